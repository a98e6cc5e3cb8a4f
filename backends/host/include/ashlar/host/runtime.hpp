// Runs a program on threads: one per device and data-parallel rank. It computes the passes and moves
// the other lanes on in between.
#pragma once

#include <ashlar/host/engine.hpp>

#include <utility>
#include <vector>

namespace ashlar::host {

// Runs one step at a time. The threads sleep between steps. A step allocates nothing, and takes a lock
// only to begin and to end.
template <worker Worker>
class runtime {
 public:
  // Keeps a copy of the program, but refers to a frozen one and to the worker. Throws violation with
  // check(p) for an invalid program, std::invalid_argument for a buffer without places,
  // std::length_error as check_gradient_sizes, std::system_error when there are too many threads for the
  // system, or the folder of options.offload_folder cannot take what leaves.
  runtime(program_source p, Worker& w, run_options options = {})
      : runtime(std::move(p), std::vector<Worker*>{&w}, options) {}

  // Runs data-parallel ranks, a worker each. Throws std::invalid_argument unless there are as many as
  // the program has ranks, and when the workers lack a verb that it needs (run/contract.hpp).
  runtime(program_source p, std::vector<Worker*> const& ranks, run_options options = {})
      : engine_(std::move(p), worker_refs<queue>(ranks), options) {}

  // Runs one step. Rethrows what the worker throws on any device, after all devices have stopped; throws
  // stalled when nothing has moved for the deadline and no device is inside the worker, and
  // mismatched_transfer when two devices disagree. After an exception the runtime is ready for the next
  // step. Passes are never interrupted: a step that fails lasts until those under way return.
  void run() { engine_.run(); }

  // Times of the last step, by instruction of the whole program, rank after rank; empty unless
  // options.record.
  std::vector<instruction_time> const& times() const { return engine_.times(); }
  program_view const& view() const { return engine_.view(); }
  // Bytes of the slots of all devices and ranks, and of those that they offload to.
  std::size_t slot_bytes() const { return engine_.slot_bytes(); }
  std::size_t host_slot_bytes() const { return engine_.host_slot_bytes(); }

 private:
  engine engine_;
};

}  // namespace ashlar::host
