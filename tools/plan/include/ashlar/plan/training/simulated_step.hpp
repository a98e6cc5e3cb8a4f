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
  double backward = 0;  // with recomputation

  double both() const { return forward + backward; }
  // Adds the seconds of further layers.
  pass_seconds& operator+=(pass_seconds const& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

// Scales by a count of layers or micro-batches.
inline pass_seconds operator*(double count, pass_seconds const& each) {
  return {count * each.forward, count * each.backward};
}

// Seconds of one stage, or of one of its chunks of a sequence.
struct stage_seconds {
  pass_seconds passes = {};     // of a micro-batch
  double send = 0;              // of its output to the next stage, or of the gradient back
  double reduction = 0;         // of its gradient over the data ranks, after all passes
  double gather = 0;            // of its weights for each forward and backward, if they are sharded
  double scatter = 0;           // of its gradient after each backward, likewise
  pass_seconds attention = {};  // the passes' share of causal attention
  double weight = half;         // the backward's share of a split weight pass

  static constexpr double half = -1;
};

// Whether passes run beside messages.
enum class message_mode : unsigned char {
  beside,    // transfers run beside passes
  blocking,  // a device computes nothing while it sends forward or back
};

// The machine on which a tick is a nanosecond and a message has a byte per tick. If the chunks of
// sequences are distinguished, there is an entry for each stage and chunk, as in `costs`; those of a
// stage have equal messages.
simulation_options step_machine(std::vector<stage_seconds> const& per_stage, message_mode messages,
                                int sequence_chunks = 1);

// Seconds of a step of these passes in their order, with the times of each stage, or of each of its
// chunks. Throws violation as nanoseconds, retime and lower do. Linear in the passes.
double simulated_step(schedule const& alike, std::vector<stage_seconds> const& per_stage,
                      message_mode messages);

}  // namespace ashlar
