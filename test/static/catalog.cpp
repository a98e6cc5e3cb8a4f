// Every published schedule at 8 devices and 32 micro-batches: the block, and the schedule repeated and
// squeezed.
#include <ashlar/catalog.hpp>
#include <ashlar/valid.hpp>

#include <cstddef>

using namespace ashlar;

// Without a search, which takes longer than compilers wait.
constexpr catalog::shape shape() {
  return {.p = devices{8}, .m = micro_batches{32}, .search = {.passes = 0}};
}

template <std::size_t Entry>
constexpr block block_of() {
  return catalog::entries[Entry].block_of(shape());
}

template <std::size_t Entry>
constexpr schedule schedule_of() {
  return catalog::entries[Entry].make(shape());
}

static_assert(catalog::entries.size() == 13, "a line for each entry below");

static_assert(valid<block_of<0>>());
static_assert(valid<block_of<1>>());
static_assert(valid<block_of<2>>());
static_assert(valid<block_of<3>>());
static_assert(valid<block_of<4>>());
static_assert(valid<block_of<8>>());
static_assert(valid<block_of<9>>());
static_assert(valid<block_of<10>>());
static_assert(valid<block_of<11>>());

static_assert(valid<schedule_of<0>>());
static_assert(valid<schedule_of<1>>());
static_assert(valid<schedule_of<2>>());
static_assert(valid<schedule_of<3>>());
static_assert(valid<schedule_of<4>>());
static_assert(valid<schedule_of<5>>());
static_assert(valid<schedule_of<6>>());
// 7 and 8, grouped-interleaved and v-min: in static_large.
static_assert(valid<schedule_of<9>>());
static_assert(valid<schedule_of<10>>());
static_assert(valid<schedule_of<11>>());
static_assert(valid<schedule_of<12>>());
