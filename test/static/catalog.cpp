// Every published schedule at 8 devices and 32 micro-batches: the block, and the schedule repeated and
// squeezed.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/valid.hpp>

#include <cstddef>
#include <utility>

using namespace ashlar;

constexpr catalog::shape shape() { return {.p = devices{8}, .m = micro_batches{32}}; }

template <std::size_t Entry>
constexpr block block_of() {
  catalog::entry const entry = catalog::entries[Entry];  // a copy: nvcc 13 cannot evaluate it in place
  return entry.block_of(shape());
}

template <std::size_t Entry>
constexpr schedule schedule_of() {
  catalog::entry const entry = catalog::entries[Entry];  // a copy: nvcc 13 cannot evaluate it in place
  return entry.make(shape());
}

// Variables, so that the limits on constant evaluation are for each entry alone.
template <std::size_t Entry>
constexpr bool is_schedule_valid = valid<schedule_of<Entry>>();

template <std::size_t Entry>
constexpr bool is_block_valid = [] {
  if constexpr (catalog::entries[Entry].block_of != nullptr)
    return valid<block_of<Entry>>();
  else
    return true;
}();

template <std::size_t... Entry>
constexpr bool are_all_valid(std::index_sequence<Entry...>) {
  return (... && is_block_valid<Entry>)&&(... && is_schedule_valid<Entry>);
}
static_assert(are_all_valid(std::make_index_sequence<catalog::entries.size()>()));
