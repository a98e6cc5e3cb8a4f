// Every published schedule at 8 devices and 32 micro-batches, as a program.
#include <ashlar/catalog.hpp>
#include <ashlar/freeze.hpp>
#include <ashlar/lower.hpp>
#include <ashlar/valid.hpp>

#include <cstddef>
#include <utility>

using namespace ashlar;

template <std::size_t Entry>
constexpr program program_of() {
  return catalog::entries[Entry].make({.p = devices{8}, .m = micro_batches{32}}) | lower();
}

// Variables, so that the limits on constant evaluation are for each entry alone.
template <std::size_t Entry>
constexpr bool is_program_valid = valid<program_of<Entry>>();

template <std::size_t... Entry>
constexpr bool are_all_valid(std::index_sequence<Entry...>) {
  return (... && is_program_valid<Entry>);
}
static_assert(are_all_valid(std::make_index_sequence<catalog::entries.size()>()));

static_assert(freeze<program_of<3>>.view().device_count == 8);
