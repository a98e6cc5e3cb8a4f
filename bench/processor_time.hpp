// Processor time of a piece of work, which other work on the machine does not lengthen as it does that
// of a clock on the wall.
#pragma once

#include <ctime>

namespace bench {

template <class Work>
double processor_seconds(Work work) {
  std::clock_t const before = std::clock();
  work();
  return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
}

}  // namespace bench
