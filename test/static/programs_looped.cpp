// The published schedules with looped placements, as programs.
#include <static_programs.hpp>

#include <cstddef>
#include <string_view>

static_assert(holds_for_each<family::looped, is_program_valid>);

// A transfer lane for each peer.
constexpr std::size_t number_of(std::string_view name) {
  return static_cast<std::size_t>(ashlar::catalog::find(name) - ashlar::catalog::entries.data());
}
using ashlar::transfer_lanes;
static_assert(ashlar::valid<program_of<number_of("1f1b"), transfer_lanes::one_a_peer>>());
static_assert(ashlar::valid<program_of<number_of("zb-h1"), transfer_lanes::one_a_peer>>());
