// Bytes that each device holds at its peak, by purpose.
#pragma once

#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/execution.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/kept.hpp>

#include <vector>

namespace ashlar::cost {

// Bytes of one device at its peak.
struct memory_parts {
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0;
  double logits = 0;     // while the loss is taken
  double gathered = 0;   // weights and gradients of layers at work, fully sharded
  double framework = 0;  // workspaces
  double host = 0;       // offloaded bytes, on the host

  // The sum of all parts on the device.
  double all() const {
    return parameters + gradients + optimizer + activations + logits + gathered + framework;
  }

  friend constexpr bool operator==(memory_parts const&, memory_parts const&) = default;
};

// Micro-batches that each chunk of a device holds at once, under one forward, one backward, plain or
// interleaved. For another schedule see execution::held.
std::vector<int> in_flight(question const& q, int device);

// The memory that a stage needs on its device.
struct stage_needs {
  held_parameters held;
  double summed = 0;  // trained parameters of the largest stage
  double kept = 0;    // bytes from a micro-batch's forward to its backward
  double left = 0;    // likewise, offloaded to the host
  double moving = 0;  // of a layer whose copy moves out or in while its neighbour works
  double whole = 0;   // of the largest recomputed part, materialized at once
  double logits = 0;  // while the loss is taken

  // Adds another stage of the same device.
  void add(stage_needs const& other);
};

// Needs of each stage. `gathered`: see kept_bytes().
std::vector<stage_needs> needs_of(question const& q, std::vector<stage> const& stages, bool gathered,
                                  constants const& c);

// Memory of a device whose stages need `all` and keep `activations` bytes. The `copies` of a stage are
// on different devices of a pipeline, and shard the state together with data ranks.
memory_parts memory_of_device(question const& q, stage_needs const& all, double activations, int copies,
                              constants const& c);

// One entry per device. A plain program without a pipeline keeps the gathered inputs of tensor ranks if
// they fit; otherwise it gathers them again.
std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c, execution const& run);
std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c);

// The largest memory of any device; and the largest on any device's share of its host.
double peak_bytes(std::vector<memory_parts> const& devices);
double peak_host_bytes(std::vector<memory_parts> const& devices);

// Whether `bytes` fit. The rest must hold the context, NCCL's buffers and fragments.
inline bool fits(machine const& device, double bytes, constants const& c) {
  return bytes + c.outside_bytes <= device.memory_bytes;
}

// Whether all devices of a pipeline and their hosts fit, each within the memory of its own kind.
bool fits(question const& q, std::vector<memory_parts> const& devices, constants const& c);

// The device of a pipeline that uses the highest share of its memory. Requires a question that check()
// accepts, and what each of its pipeline's devices holds.
int fullest_device(question const& q, std::vector<memory_parts> const& devices);

}  // namespace ashlar::cost
