// Parts of passes in short notation.
#pragma once

#include <ashlar/core/pass_parts.hpp>

namespace part_lists {

constexpr ashlar::pass_part computes(ashlar::tick t, bool of_weights = false) {
  return {ashlar::part_resource::compute, t, of_weights};
}
constexpr ashlar::pass_part exchanges(ashlar::tick t) { return {ashlar::part_resource::exchange, t}; }

}  // namespace part_lists
