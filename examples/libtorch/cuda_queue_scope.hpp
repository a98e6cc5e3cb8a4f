// Operators on GPUs go to the stream of the queue.
#pragma once

#include "queue_scope.hpp"
#include <ashlar/cuda/queue.hpp>

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace libtorch {

// Autograd runs a backward on the stream of its forward, which is the same lane's, and lets the current
// stream wait for what it did elsewhere. Memory that a stash keeps is used and freed on that one stream.
template <>
struct queue_scope<ashlar::cuda::queue> {
  c10::cuda::CUDAStreamGuard guard;
  explicit queue_scope(ashlar::cuda::queue& q)
      : guard(c10::cuda::getStreamFromExternal(q.stream, static_cast<c10::DeviceIndex>(q.gpu))) {}
};

}  // namespace libtorch
