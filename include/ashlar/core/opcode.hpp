// What an instruction of a device's stream does.
#pragma once

namespace ashlar {

enum class opcode : unsigned char {
  compute,     // run a pass
  send,        // hand a slot's content to a peer
  receive,     // fill a slot from a peer
  all_reduce,  // a stage's weight gradient is complete here: sum it over the stage's replicas (and the
               // data-parallel ranks, unless it lies in shards)
  all_gather,  // fill a slot with a stage's weights, from the ranks' shards
  release,     // give gathered weights up
  reduce_scatter,  // add a gradient buffer, summed over the ranks, to each rank's shard; empties the
                   // buffer
  statistics,      // sum a statistic of the gradients (their squared norm) over all devices and ranks
  optimize,        // a stage's optimizer step; uses its gradient up
};

}  // namespace ashlar
