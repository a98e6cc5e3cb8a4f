// The time of a step by simulation of the lowered program.
#pragma once

#include <ashlar/plan/training/quantities.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/options.hpp>

#include <vector>

namespace ashlar {

// Of one stage, in seconds; or of one of its chunks of a sequence.
struct stage_seconds {
  double forward = 0;    // of a micro-batch
  double backward = 0;   // with what it runs again
  double send = 0;       // of its output to the next stage, or of the gradient back
  double reduction = 0;  // of its gradient over the data ranks, beside no pass
  double gather = 0;     // of its weights for each forward and backward, if they are kept in shards
  double scatter = 0;    // of its gradient after each backward, likewise
  double forward_attention = 0;   // of the forward, causal attention
  double backward_attention = 0;  // of the backward, likewise
  double weight = half;           // of the backward, its weight pass, where it is split

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
