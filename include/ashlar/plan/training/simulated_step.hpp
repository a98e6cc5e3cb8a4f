// The time of a step by simulation of the lowered program.
#pragma once

#include <ashlar/plan/training/quantities.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/options.hpp>

#include <vector>

namespace ashlar {

// Seconds of the passes of one micro-batch.
struct pass_seconds {
  double forward = 0;
  double backward = 0;  // with what it runs again

  double both() const { return forward + backward; }
  // Those of further layers.
  pass_seconds& operator+=(pass_seconds const& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

// Of so many layers, or micro-batches, alike.
inline pass_seconds operator*(double count, pass_seconds const& each) {
  return {count * each.forward, count * each.backward};
}

// Of one stage, in seconds; or of one of its chunks of a sequence.
struct stage_seconds {
  pass_seconds passes = {};  // of a micro-batch
  double send = 0;           // of its output to the next stage, or of the gradient back
  double reduction = 0;      // of its gradient over the data ranks, beside no pass
  double gather = 0;         // of its weights for each forward and backward, if they are kept in shards
  double scatter = 0;        // of its gradient after each backward, likewise
  pass_seconds attention = {};  // of the passes, causal attention
  double weight = half;         // of the backward, its weight pass, where it is split

  static constexpr double half = -1;
};

// Whether passes run beside messages.
enum class message_mode : unsigned char {
  beside,    // transfers run beside passes
  blocking,  // a device computes nothing while it sends forward or back
};

// The machine on which a tick is a nanosecond and a message has a byte for each that it takes. Where the
// chunks of sequences are distinguished, there is an entry for each stage and chunk, as in `costs`;
// those of a stage have messages alike.
simulation_options step_machine(std::vector<stage_seconds> const& per_stage, message_mode messages,
                                int sequence_chunks = 1);

// Seconds of a step of these passes in their order, under the stages' own times, or those of each of
// their chunks. Throws violation as nanoseconds, retime and lower do. Linear in the passes.
double simulated_step(schedule const& alike, std::vector<stage_seconds> const& per_stage,
                      message_mode messages);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/simulated_step.ipp>
#endif
