// The time at which an instruction ran.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstdint>

namespace ashlar {

// Nanoseconds since the step began. A transfer begins when it is posted and ends when it is done.
struct instruction_time {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

}  // namespace ashlar
