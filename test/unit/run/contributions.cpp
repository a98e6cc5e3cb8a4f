#include <ashlar/run/contributions.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/host_memory.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace ashlar;

namespace {

struct doubles_by_group {
  int large = 1;
  value_layout layout(value_key key) const {
    std::size_t const bytes = key.kind == slot_kind::weight_gradient && key.of == large ? 1000 : 72;
    return {bytes, 64, element_type::f64};
  }
};

std::size_t bytes_for(program const& p, int device, int large = 1) {
  doubles_by_group const w{large};
  slot_table const slots = slot_layout(p.view(), 0, device, [&](value_key k) { return w.layout(k); });
  aligned_memory const memory(slots.total, slots.alignment);
  return contributions::bytes(device_plan(p.view(), 0, device, w, slots, memory.data()));
}

}  // namespace

TEST_CASE("contributions: a device has room for the largest sum that it takes part in") {
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{2}});
  // Alone it sums nothing with others.
  CHECK(bytes_for(lower(s), 0) == 0);
  // Three ranks: parts of 24 bytes, and of 336, each in cache lines of their own.
  program const p = lower(s, {.data_ranks = 3});
  CHECK(bytes_for(p, 0) == 3 * 64);
  CHECK(bytes_for(p, 1) == 3 * 384);
  CHECK(bytes_for(lower(s, {.data_ranks = 3, .sharding = sharding_level::full}), 1) == 3 * 384);
  // Both devices have both stages: the larger one counts, in any order.
  schedule const two = catalog::find("chimera")->make({devices{2}, micro_batches{2}});
  for (int d : {0, 1})
    for (int large : {0, 1}) CHECK(bytes_for(lower(two), d, large) == 2 * 512);
}

TEST_CASE("contributions: of each member there is as much as becomes this one's part, nothing twice") {
  std::vector<std::byte> whole(13 * sizeof(double)), scratch(4 * 64);
  contributions const all(scratch.data());
  for (int mine = 0; mine < 4; ++mine) {
    collective_call const c{
        .group = {.member = mine, .size = 4}, .whole = whole, .shard = {}, .element = element_type::f64};
    buffer const own = part_of(c, mine);
    CHECK(own.data()
          == (mine == 0 ? whole.data() : part_of(c, mine - 1).data() + part_of(c, mine - 1).size()));
    std::byte* free = scratch.data();
    for (int member = 0; member < 4; ++member) {
      buffer const its = all.of(c, member);
      CHECK(its.size() == own.size());
      if (member == mine) {
        CHECK(its.data() == own.data());
        continue;
      }
      CHECK(its.data() >= free);
      CHECK((its.data() - scratch.data()) % 64 == 0);
      free = its.data() + its.size();
    }
    CHECK(free <= scratch.data() + scratch.size());
  }
}
