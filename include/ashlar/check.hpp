// check(value) -> diagnosis, for blocks, schedules and programs: the first broken rule and where.
#pragma once

#include <ashlar/check_block.hpp>
#include <ashlar/check_schedule.hpp>
#include <ashlar/prove.hpp>

namespace ashlar {

// Whether check() has nothing to say.
template <class Value>
constexpr bool is_valid(Value const& value) {
  return check(value).ok();
}

}  // namespace ashlar
