// Makes a backend's queue known to LibTorch while a pass runs.
#pragma once

namespace libtorch {

// Operators run where they are called, on threads and processes.
template <class Queue>
struct queue_scope {
  explicit queue_scope(Queue&) {}
};

}  // namespace libtorch
