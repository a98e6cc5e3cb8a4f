// Calls public functions with hostile values. Without arguments, lists them with the number of each, and
// whether it can be called; with NUMBER and CASES, calls one of them that often.
#include "every/values.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc == 3) {
    auto const call = every::all[std::atoi(argv[1])].call;
    for (int seed = 0; seed < std::atoi(argv[2]); ++seed) {
      every::dice d(static_cast<std::uint64_t>(seed));
      call(d);
    }
    return 0;
  }
  for (int i = 0; i < every::count; ++i)
    std::printf("%d %d %s\n", i, every::all[i].is_called ? 1 : 0, every::all[i].place);
}
