// The instructions of a device's stream.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar {

// Collectives have the names and meanings of MPI and NCCL.
enum class opcode : unsigned char {
  compute,         // run a pass
  send,            // hand a slot's content to a peer
  receive,         // fill a slot from a peer
  all_reduce,      // sum a value over the members of a group; with one member, it only marks that the
                   // gradient is complete
  all_gather,      // fill a slot with a group's parameters, from the ranks' shards
  release,         // free the slot of gathered parameters
  reduce_scatter,  // add a gradient, summed over the ranks, to each rank's shard
  clear,           // fill a slot with zeros
  measure,         // the squared norm of a device's gradients, into a scalar
  optimize,        // the optimizer step of a group; uses its gradient up
  offload,         // copy what a forward keeps to the host
  reload,          // copy it back
};

}  // namespace ashlar
