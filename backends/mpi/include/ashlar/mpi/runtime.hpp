// Runs a program on processes, each of which runs one device of one data-parallel rank.
#pragma once

#include <ashlar/mpi/engine.hpp>

#include <mpi.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::mpi {

// A step at a time. A step allocates nothing here (the MPI library may).
//
// When nothing has moved for the deadline, a process asks all others what they are doing. It waits on as
// long as all answer, and one of them computes or has moved within the deadline. Otherwise the step
// fails. A process without a progress thread does not answer while it computes, so the deadline must
// then be longer than any pass.
template <worker Worker>
class runtime {
 public:
  // Called by all processes of `comm`, as many as the program has devices and data-parallel ranks:
  // process rank · devices + device runs that device of that rank. Keeps a copy of the program, but
  // refers to a frozen one and to the worker. Throws refused unless all have the same program, version
  // and layouts, stalled when a process does not come within the deadline, violation with check(p) for
  // an invalid program, and std::invalid_argument when processes, verbs or support for threads are
  // lacking. Must be gone before MPI_Finalize.
  runtime(MPI_Comm comm, program_source p, Worker& w, run_options options = {})
      : engine_(comm, std::move(p), w, options) {}

  // Runs one step of all processes. Throws what the worker throws; stalled, see above; and peer_failed
  // when another process has failed. After an exception no step can be run any more, and since other
  // processes may be gone, MPI should be ended by MPI_Abort, as launch() does.
  void run() { engine_.run(); }

  // Waits, between two steps, for `request`, which the caller has started on a communicator of its own
  // and in which all processes meet. The deadline and exceptions are those of run().
  void meet(MPI_Request& request) { engine_.meet(request); }

  // Calls act(), between two steps, which keeps this process busy for a while; the others wait as they
  // do for a pass.
  void work(function_ref<void()> act) { engine_.work(act); }

  int rank() const { return engine_.rank(); }
  int device_number() const { return engine_.device_number(); }
  // Times of the last step, by instruction of this process's device.
  std::vector<instruction_time> const& times() const { return engine_.times(); }
  program_view const& view() const { return engine_.view(); }
  // Bytes of the slots of this process's device, and of those that it offloads to.
  std::size_t slot_bytes() const { return engine_.slot_bytes(); }
  std::size_t host_slot_bytes() const { return engine_.host_slot_bytes(); }

 private:
  engine engine_;
};

}  // namespace ashlar::mpi
