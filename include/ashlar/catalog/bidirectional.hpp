// Shared by Chimera and BitPipe: a block of micro-batches that go down the devices is overlaid with its
// mirror image, so that the two fill each other's gaps.
#pragma once

#include <ashlar/block/algebra.hpp>
#include <ashlar/core/ids.hpp>

#include <utility>

namespace ashlar::catalog {

// One direction: `count` micro-batches, two slots apart, each with one slot per stage forward and one
// slot per stage back; a slot is as long as a backward or longer. Repeated as a whole when the stages
// have had their 2S slots.
//
// On a device the forwards of a stage stand on every other slot, those of the mirrored stage on the
// slots between, backwards likewise: with S stages and S / 2 micro-batches a device of each direction
// (the chunks of a device taken together) all slots of the interval are taken, none twice.
constexpr block one_way(placement where, int count, tick slot) {
  int const last = where.stage_count() - 1;
  return make_block(std::move(where), costs{}, 2 * slot, {pass_kind::forward, pass_kind::backward},
                    [=](pass_kind kind, int s) {
                      return slot * (kind == pass_kind::forward ? s : 2 * last + 1 - s);
                    })
         | unroll(count) | with_interval(2 * slot * (last + 1));
}

// The block and the same in the other direction.
constexpr block both_ways(block const& down) { return overlay(down, mirror(down)); }

}  // namespace ashlar::catalog
