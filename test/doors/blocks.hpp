// Transforms of blocks, and placements.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/schedule/repeat.hpp>

namespace doors {

inline void of_blocks(dice& d) {
  catalog::entry const& e = some_entry(d);
  if (e.block_of == nullptr) return;
  block b = e.block_of({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, b);
  tick const factor = extreme(d, tick{3});
  knock([&] { shift(b, factor); });
  knock([&] { scale(b, factor); });
  knock([&] { spread(b, factor); });
  knock([&] { unroll(b, d.percent(50) ? d.between(-1, 9) : extreme(d, 3)); });
  knock([&] { delay(b, b.cells.empty() ? pass{} : b.cells[0].what, factor); });
  knock([&] { split_backward(b); });
  knock([&] { fuse_backward(b); });
  knock([&] { recompute(b); });
  knock([&] { weights_in_first_gaps(b); });
  knock([&] { mirror(b); });
  knock([&] { repeat(b, micro_batches{d.between(-1, 40)}); });
  knock([&] { looped(devices{extreme(d, 2)}, chunks{extreme(d, 2)}); });
  knock([&] { wave(devices{extreme(d, 2)}, waves{extreme(d, 2)}); });
  knock([&] { stretch_transfers(b.cost.on, factor); });
}

}  // namespace doors
