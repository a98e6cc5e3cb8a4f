#include <ashlar/program/slot_sizes.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace shapes;

namespace {

// Two stages a device have the same slots, the larger one first or last.
TEST_CASE("a slot for several values is as large as the largest") {
  program const p = (*catalog::find("v-half")).make({devices{2}, micro_batches{4}}) | lower();
  for (bool larger_first : {true, false}) {
    auto const bytes = [=](value_key v) { return std::int64_t{100 + (larger_first ? -v.of : v.of)}; };
    for (int d = 0; d < 2; ++d) {
      std::vector<std::int64_t> const sizes = slot_sizes(p.view(), d, bytes);
      std::vector<std::int64_t> largest(sizes.size(), 0);
      bool differ = false;
      program_shape shape(p.view());
      shape.add_all();
      for (instruction const& i : p.view().stream(d)) {
        operand const* next = p.view().operands_of(i).begin();
        for_each_operand(shape, d, i, [&](value_key const& v, ashlar::access how, int) {
          std::int64_t& slot = largest[static_cast<std::size_t>((next++)->slot)];
          if (how == access::read) return;
          differ = differ || (slot > bytes(v));
          slot = std::max(slot, bytes(v));
        });
      }
      CHECK(sizes == largest);
      CHECK(differ);
    }
  }
}

}  // namespace
