// Every published schedule at 4 devices and 8 micro-batches, as a program.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>
#include <ashlar/lower/lower.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

using namespace ashlar;

template <std::size_t Entry, transfer_lanes Lanes = transfer_lanes::one>
constexpr program program_of() {
  catalog::entry const entry = catalog::entries[Entry];  // a copy: nvcc 13 cannot evaluate it in place
  return entry.make({.p = devices{4}, .m = micro_batches{8}}) | lower(lower_options{.lanes = Lanes});
}

// Variables, so that the limits on constant evaluation are for each entry alone.
template <std::size_t Entry>
constexpr bool is_program_valid = valid<program_of<Entry>>();

template <std::size_t... Entry>
constexpr bool are_all_valid(std::index_sequence<Entry...>) {
  return (... && is_program_valid<Entry>);
}
static_assert(are_all_valid(std::make_index_sequence<catalog::entries.size()>()));

constexpr std::size_t number_of(std::string_view name) {
  return static_cast<std::size_t>(catalog::find(name) - catalog::entries.data());
}
static_assert(valid<program_of<number_of("1f1b"), transfer_lanes::one_a_peer>>());
static_assert(valid<program_of<number_of("zb-h1"), transfer_lanes::one_a_peer>>());
