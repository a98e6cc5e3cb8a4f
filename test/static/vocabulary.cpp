// The output layer split over all devices: barriers among the forwards and backwards of its shards.
#include <ashlar/ashlar.hpp>
#include <ashlar/catalog/vocabulary_entries.hpp>

using namespace ashlar;

template <int Entry>
constexpr block shared_block() {
  catalog::entry const entry = catalog::vocabulary_entries[Entry];  // a copy: nvcc 13 needs one
  return entry.block_of({.p = devices{8}, .m = micro_batches{24}});
}
template <int Entry>
constexpr schedule shared_schedule() {
  catalog::entry const entry = catalog::vocabulary_entries[Entry];
  return entry.make({.p = devices{8}, .m = micro_batches{24}});
}
template <int Entry>
constexpr program shared_program() {
  catalog::entry const entry = catalog::vocabulary_entries[Entry];
  return entry.make({.p = devices{4}, .m = micro_batches{8}}) | lower();
}

static_assert(valid<shared_block<0>>());
static_assert(valid<shared_block<1>>());
static_assert(valid<shared_block<2>>());
static_assert(valid<shared_schedule<0>>());
static_assert(valid<shared_schedule<1>>());
static_assert(valid<shared_schedule<2>>());
static_assert(valid<shared_program<0>>());
static_assert(valid<shared_program<1>>());
static_assert(valid<shared_program<2>>());
