// Streams: queues of operations.
#include "graph.hpp"
#include "machine.hpp"

#include <algorithm>

namespace cuda_substitute {
namespace {

// The legacy stream waits for all blocking streams of its device, and they for it.
void order_with_legacy(machine const& m, CUstream_st const& s, operation& next) {
  if (!s.blocking) return;
  cudaStream_t const legacy = s.device->legacy;
  if (&s != legacy) {
    if (legacy->last) next.after.push_back(legacy->last);
    return;
  }
  for (cudaStream_t other : m.streams)
    if (other->blocking && other->device == s.device && other->last) next.after.push_back(other->last);
}

// The legacy stream may not come to depend on a stream that captures.
void require_no_blocking_capture(machine const& m, CUstream_st const& s) {
  if (&s != s.device->legacy) return;
  for (cudaStream_t other : m.streams)
    if (other->blocking && other->device == s.device && other->capturing)
      invalidate(*other->capturing, cudaErrorStreamCaptureImplicit);
}

cudaError_t create(char const* name, cudaStream_t* stream, unsigned flags) {
  return call(name, [&](machine& m, auto&) {
    if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
    device_ptr const d = m.current();
    *stream = new CUstream_st{.device = d, .blocking = flags != cudaStreamNonBlocking};
    m.streams.insert(*stream);
    return cudaSuccess;
  });
}

}  // namespace

CUstream_st& machine::at(cudaStream_t stream) const {
  if (stream == nullptr) return *current()->legacy;
  if (!streams.contains(stream)) throw refused{cudaErrorInvalidResourceHandle};
  if (stream->device->error != cudaSuccess) throw refused{stream->device->error};
  return *stream;
}

void submit(machine& m, CUstream_st& s, operation next) {
  if (s.capturing) {
    add_node(s, std::move(next));
    return;
  }
  require_no_blocking_capture(m, s);
  order_with_legacy(m, s, next);
  s.last = next.done;
  s.queue.push(std::move(next));
}

cudaError_t enqueue(cudaStream_t stream, std::string name, std::function<void()> body) {
  machine& m = the_machine();
  std::lock_guard const lock(m.mutex);
  try {
    CUstream_st& s = m.at(stream);
    submit(m, s,
           {.kind = work::device, .name = std::move(name), .device = s.device, .body = std::move(body)});
    return cudaSuccess;
  } catch (refused const& r) {
    return r.error;
  }
}

int device_of(cudaStream_t stream) {
  machine& m = the_machine();
  std::lock_guard const lock(m.mutex);
  if (stream == nullptr) return current_device();
  return m.streams.contains(stream) ? stream->device->number : -1;
}

}  // namespace cuda_substitute

using namespace cuda_substitute;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create("cudaStreamCreate", stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create("cudaStreamCreateWithFlags", stream, flags);
}

// The work that it still has to do is done all the same.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  auto const destroy = [&](machine& m, auto&) {
    if (!m.streams.contains(stream)) return cudaErrorInvalidResourceHandle;
    if (stream->last) stream->device->left.push_back(stream->last);
    if (std::shared_ptr<capture> const c = stream->capturing) {
      c->invalid = true;
      std::erase(c->streams, stream);
      if (c->origin == stream) end(m, c);
    }
    cudaError_t const error = stream->device->error;
    m.streams.erase(stream);
    delete stream;
    return error;
  };
  return call("cudaStreamDestroy", destroy, on_error::give_back_still);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call("cudaStreamSynchronize", [&](machine& m, auto& lock) {
    CUstream_st& s = m.at(stream);
    require_not_capturing(s);
    operation marker{.name = "a synchronisation", .device = s.device};
    order_with_legacy(m, s, marker);
    if (s.last) marker.after.push_back(s.last);
    device_ptr const device = s.device;
    return wait_for(marker.after, *device, lock);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call("cudaStreamQuery", [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    require_not_capturing(s);
    if (s.last && !s.last->done()) return cudaErrorNotReady;
    guard_idle_memory();
    return s.device->error.load();  // which it may have got since we asked for the stream
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data) {
  return call("cudaLaunchHostFunc", [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    if (function == nullptr) return cudaErrorInvalidValue;
    submit(m, s,
           {.kind = work::host,
            .name = "a host function",
            .device = s.device,
            .body = [function, user_data] { function(user_data); }});
    return cudaSuccess;
  });
}
