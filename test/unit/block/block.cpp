#include <ashlar/block/block.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"

using namespace shapes;

namespace {

TEST_CASE("a block by its offsets") {
  block const b =
      make_block(linear(devices{2}), costs(stage_cost{1, 2, 3}), 6, {F, I, W},
                 [](pass_kind kind, int stage) { return 10 * stage + static_cast<int>(kind); });
  CHECK((b.micro_batch_count() == 1 && b.interval == 6));
  CHECK(b.graph == chain(stages{2}));
  CHECK(b.cells.size() == 6);
  CHECK(b.cells[0] == cell{{F, 0, 0}, 0});
  CHECK(b.cells[4] == cell{{I, 1, 0}, 10 + static_cast<int>(I)});
  CHECK(b.device_of({F, 1, 0}) == 1);
  CHECK(block{}.micro_batch_count() == 0);
}

}  // namespace
