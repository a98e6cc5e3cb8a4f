// The memory that the engine hands to workers and devices, with its purpose.
#pragma once

#include <ashlar/core/pass.hpp>
#include <ashlar/program/slot_layout.hpp>

#include <cstddef>
#include <span>

namespace ashlar {

// Memory of a device. Workers cast it to their own types.
using buffer = std::span<std::byte>;

// A message at a stage, at its place among the stage's neighbours in the graph. If stages have
// micro-batches of different sizes, a smaller micro-batch gets the whole message of a larger one, and a
// larger one gets several messages of a neighbour, in the order of their micro-batches.
struct port {
  buffer bytes;
  int stage = -1;  // its source; of an output its target stage, -1: every next one
  element_type element = element_type::opaque;
  int micro_batch = -1;  // of the pass that made it

  constexpr operator buffer() const { return bytes; }
};

// A value that work reads, or that a pass reads from work.
struct work_port {
  buffer bytes;
  pass from;  // its source; from a pass of the pipeline, `bytes` are the stage's stash or weight stash
  element_type element = element_type::opaque;

  constexpr operator buffer() const { return bytes; }
};

// The place where an instruction runs.
struct work_site {
  int device = 0;
  int rank = 0;     // data-parallel
  int replica = 0;  // the device's number among those that hold the stage or group
  int lane = 0;
  int index = 0;  // in the device's stream
};

// The data of one compute instruction. All buffers are slots of the program. They are allocated before
// the first step, with the size and alignment that the worker's layout() gives for their values.
struct frame {
  pass what;
  std::span<port const> inputs;   // forward: the activation of each previous stage, in graph order;
                                  // backward and backward_input: the gradient from each next stage, or
                                  // of a shard the activation of each shard of its layer, its own too
  std::span<port const> outputs;  // forward: the stage's activation, if anything reads it; backward and
                                  // backward_input: the gradient for each previous stage, unless the
                                  // forward of a shard has given it already, after its activation
  buffer checkpoint = {};         // forward and recompute, if the program recomputes
  buffer stash = {};              // all passes but work
  buffer weight_stash = {};       // backward passes; scratch space in a fused one
  buffer weight_gradient = {};    // backward and backward_weight add to it; work takes it, or gives it
  buffer weight = {};             // all passes but work, if weights are sharded: the stage's, gathered
  std::span<port const> shared_gradients = {};  // likewise, of the groups it has with other stages
  std::span<work_port const> work_inputs = {};  // any pass: what it reads of work, work: what it reads;
                                                // in the order of the edges' `from`
  buffer work_output = {};                      // work: to write, if anybody reads it
  buffer work_state = {};      // work: the job's state on this device, zeros before the first step
  buffer micro_gradient = {};  // work: the copy of a micro-batch's gradient, written where it is taken
  buffer sequence_input = {};  // of a chunk of a sequence: forward and recompute read the state that the
                               // chunk before left, backward and backward_input the gradient that the
                               // chunk after left; empty where there is none
  buffer sequence_output = {};  // forward: this state for the chunk after; backward and backward_input:
                                // its gradient for the chunk before; empty where there is none
  work_site site = {};
};

// The member of a frame for a value that the pass reads, writes or adds to. Null for values that come as
// messages.
inline buffer* place_in(frame& f, slot_kind kind, bool reads) {
  switch (kind) {
    case slot_kind::checkpoint:
      return &f.checkpoint;
    case slot_kind::stash:
      return &f.stash;
    case slot_kind::weight_stash:
      return &f.weight_stash;
    case slot_kind::sequence_state:
    case slot_kind::sequence_gradient:
      return reads ? &f.sequence_input : &f.sequence_output;
    case slot_kind::weight_gradient:
      return &f.weight_gradient;
    case slot_kind::weight:
      return &f.weight;
    case slot_kind::work:
      return reads ? nullptr : &f.work_output;
    case slot_kind::work_state:
      return &f.work_state;
    case slot_kind::micro_gradient:
      return &f.micro_gradient;
    default:
      return nullptr;
  }
}

// The data of an instruction on the parameters of a group.
struct parameter_frame {
  int group = -1;
  buffer gradient = {};                  // complete: the group's, or this rank's shard of it
  std::span<port const> gradients = {};  // measure: those that this device counts for
  buffer scalar = {};  // measure: a double to write; optimize: the sum of all, or empty
  work_site site = {};
};

// The content of a transfer. Both sides name it, so that a mismatch is found where it happens.
struct message {
  pass what;   // source of the value
  int to = 0;  // target stage

  friend constexpr bool operator==(message const&, message const&) = default;
};

// A send or a receive.
struct transfer_call {
  int peer = 0;  // the other device
  message what;
  buffer bytes;
  element_type element = element_type::opaque;
  work_site site = {};
};

// A copy between a slot of a device and one on its host. Both buffers have the same size.
struct copy_call {
  buffer on_device;
  buffer on_host;
  work_site site = {};
};

// The participants of a collective.
enum class group_scope : unsigned char {
  holders,  // all ranks' holders of a parameter group, or of the parts of a job
  holders_of_a_rank,
  ranks,  // the data-parallel ranks' copies of a device
};

// The order in which a backend sums.
enum class numerics : unsigned char {
  ordered,    // the order of a group's members: the bits of the sequential reference
  any_order,  // the library's order, which may be faster in large groups
};

// The members of a collective.
struct collective_group {
  group_scope scope = group_scope::holders;
  int of = 0;      // the group, below all_reduce_count() (groups.everyone(): all devices); or the device
  int member = 0;  // this one's number, which is the order of summation: holder by holder (part by
                   // part), in each the ranks; of everyone rank by rank
  int size = 1;
};

// A collective as seen by one member.
struct collective_call {
  collective_group group;
  buffer whole;  // of an all_reduce, summed in place
  buffer shard;  // of an all_gather this rank's, read; of a reduce_scatter this rank's, added to
  element_type element = element_type::opaque;
  work_site site = {};
};

}  // namespace ashlar
