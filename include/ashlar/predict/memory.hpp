// Bytes that each device holds at its peak, by what they are for.
#pragma once

#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/execution.hpp>
#include <ashlar/predict/held_parameters.hpp>
#include <ashlar/predict/kept.hpp>
#include <ashlar/predict/question.hpp>
#include <ashlar/predict/stage_layout.hpp>

#include <vector>

namespace ashlar::predict {

// Bytes of one device at its peak.
struct memory_parts {
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0;
  double logits = 0;     // while the loss is taken
  double gathered = 0;   // weights and gradients of layers at work, fully sharded
  double framework = 0;  // workspaces
  double host = 0;       // on the host, of what left

  // The sum of all parts on the device.
  double all() const {
    return parameters + gradients + optimizer + activations + logits + gathered + framework;
  }

  friend constexpr bool operator==(memory_parts const&, memory_parts const&) = default;
};

// Micro-batches that each chunk of a device holds at once: one forward, one backward, or interleaved. Of
// another schedule, execution::held says it.
std::vector<int> in_flight(question const& q, int device);

// What a stage makes its device hold.
struct stage_needs {
  held_parameters held;
  double summed = 0;  // parameters that are trained, of the largest stage
  double kept = 0;    // bytes from a micro-batch's forward to its backward
  double left = 0;    // beside these, on the host
  double moving = 0;  // of a layer whose copy goes out while the next one works, and comes in likewise
  double whole = 0;   // of the largest part that is run again, which is whole at a time
  double logits = 0;  // while the loss is taken

  // Of another stage of the same device.
  void add(stage_needs const& other);
};

// Of each stage. `gathered`: as of kept_bytes().
std::vector<stage_needs> needs_of(question const& q, std::vector<stage> const& stages, bool gathered,
                                  constants const& c);

// Of a device that has `all` of one or more stages, and holds so many bytes of `activations` that are
// kept. `copies` of a stage are on different devices of a pipeline, and share what data ranks do.
memory_parts memory_of_device(question const& q, stage_needs const& all, double activations, int copies,
                              constants const& c);

// One entry a device. A plain program without a pipeline keeps the gathered inputs of tensor ranks where
// they fit, and gathers them again where they do not.
std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c, execution const& run);
std::vector<memory_parts> memory_of(question const& q, std::vector<stage> const& stages,
                                    constants const& c);

// The most on any device; and the most on any device's share of its host.
double peak_bytes(std::vector<memory_parts> const& devices);
double peak_host_bytes(std::vector<memory_parts> const& devices);

// What is left must hold the context, NCCL's buffers and fragments.
inline bool fits(question const& q, double bytes, constants const& c) {
  return bytes + c.outside_bytes <= q.device.memory_bytes;
}

// The same of all devices and of their hosts.
bool fits(question const& q, std::vector<memory_parts> const& devices, constants const& c);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/memory.ipp>
#endif
