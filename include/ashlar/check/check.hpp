// check(value) -> diagnosis, for blocks, schedules and programs: the first broken rule and where.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/check.hpp>

namespace ashlar {

// Whether check() has nothing to say.
template <class Value>
constexpr bool is_valid(Value const& value) {
  return check(value).ok();
}

}  // namespace ashlar
