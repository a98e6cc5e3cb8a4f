// Runs a program on GPUs: one thread puts all instructions of this process's devices on their streams.
#pragma once

#include <ashlar/cuda/engine.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// Runs one step at a time. A step waits for nothing on the host and allocates nothing on a GPU. A
// replayed step allocates nothing at all.
template <worker Worker>
class runtime {
 public:
  // All devices in this process, copies between them; several devices may share a GPU. Keeps a copy of
  // the program, but refers to a frozen one and to the workers, one for each data-parallel rank. Throws
  // violation with check(p) for an invalid program, std::invalid_argument when ranks, verbs or GPUs are
  // lacking, out_of_memory when slots do not fit, and error when a call fails.
  runtime(program_source p, Worker& w, run_options options = {})
      : runtime(std::move(p), std::vector<Worker*>{&w}, std::move(options)) {}
  runtime(program_source p, std::vector<Worker*> const& ranks, run_options options = {})
      : engine_(std::move(p), worker_refs<device::queue>(ranks), std::move(options)) {}

  // The devices of a process group, with NCCL between them: a worker for each rank, null for those that
  // have no device here. Called by all processes. Throws the same, and refused unless all have the same
  // program, version and layouts.
  runtime(process_group& group, program_source p, std::vector<Worker*> const& ranks,
          run_options options = {})
      : engine_(group, std::move(p), worker_refs<device::queue>(ranks), std::move(options)) {}

  // Runs one step, from begin to end. Throws what the worker throws; error when a call fails, with the
  // device and the instruction; and stalled. After an exception no step can be run any more.
  void run() { engine_.run(); }

  // Puts a step after those before it, and returns. Throws as run() does: calls that are made for it
  // may wait for other processes.
  void enqueue() { engine_.enqueue(); }

  // Waits for all steps, as the destructor does, at most for the deadline. Throws as run() does.
  void finish() { engine_.finish(); }

  // The times of the last step, by instruction of this process's devices, one device after the other.
  // Empty unless options.record.
  std::vector<instruction_time> const& times() const { return engine_.times(); }
  program_view const& view() const { return engine_.view(); }
  // Bytes of slots on this process's devices.
  std::size_t slot_bytes() const { return engine_.slot_bytes(); }
  // Bytes of those in pinned memory of the host, where they offload to.
  std::size_t host_slot_bytes() const { return engine_.host_slot_bytes(); }
  wait_counts waits() const { return engine_.waits(); }

 private:
  engine engine_;
};

}  // namespace ashlar::cuda
