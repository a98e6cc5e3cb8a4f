#include <ashlar/program/slot_sizes.hpp>
// First, so that it needs nothing before it.
#include "shapes.hpp"
#include "static_check.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>

#include <algorithm>
#include <vector>

using namespace shapes;

namespace {

// Two stages a device with the same slots, the larger one first or last.
constexpr bool test_largest_of_several() {
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
        for_each_operand(shape, d, i, [&](value_key const& v, access how, int) {
          std::int64_t& slot = largest[static_cast<std::size_t>((next++)->slot)];
          if (how == access::read) return;
          differ = differ || (slot > bytes(v));
          slot = std::max(slot, bytes(v));
        });
      }
      HOLDS(sizes == largest);
      HOLDS(differ);
    }
  }
  return true;
}
BOTH_TIMES("a slot for several values is as large as the largest", test_largest_of_several)

}  // namespace
