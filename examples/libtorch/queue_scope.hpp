// Makes a backend's queue known to LibTorch while a pass runs.
#pragma once

namespace libtorch {

// On threads and processes operators run where they are called.
template <class Queue>
struct queue_scope {
  explicit queue_scope(Queue&) {}
};

}  // namespace libtorch
