// Events: the work that a stream had up to their last record.
#include "graph.hpp"
#include "machine.hpp"

namespace cuda_substitute {
namespace {

cudaError_t create(char const* name, cudaEvent_t* event, unsigned flags) {
  return call(name, [&](machine& m, auto&) {
    if (event == nullptr || flags > (cudaEventBlockingSync | cudaEventDisableTiming))
      return cudaErrorInvalidValue;
    device_ptr const d = m.current();
    *event = new CUevent_st{.device = d, .timed = (flags & cudaEventDisableTiming) == 0};
    m.events.insert(*event);
    return cudaSuccess;
  });
}

cudaError_t record(char const* name, cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return call(name, [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    CUevent_st& e = m.at(event);
    if (flags > cudaEventRecordExternal) return cudaErrorInvalidValue;
    if (s.device != e.device) return cudaErrorInvalidResourceHandle;
    operation marker{.name = "a record", .device = s.device};
    if (s.capturing && flags == cudaEventRecordExternal) {
      add_node(s, std::move(marker)).records = event;
      return cudaSuccess;
    }
    if (s.capturing) {
      captured_record(s, e);
      return cudaSuccess;
    }
    if (flags == cudaEventRecordExternal) return cudaErrorInvalidValue;
    ticket_ptr const done = marker.done;
    submit(m, s, std::move(marker));
    e.captured = nullptr;
    e.last = done;
    return cudaSuccess;
  });
}

}  // namespace

CUevent_st& machine::at(cudaEvent_t event) const {
  if (!events.contains(event)) throw refused{cudaErrorInvalidResourceHandle};
  if (event->device->error != cudaSuccess) throw refused{event->device->error};
  return *event;
}

}  // namespace cuda_substitute

using namespace cuda_substitute;

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create("cudaEventCreate", event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return create("cudaEventCreateWithFlags", event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  auto const destroy = [&](machine& m, auto&) {
    if (m.events.erase(event) == 0) return cudaErrorInvalidResourceHandle;
    cudaError_t const error = event->device->error;
    delete event;
    return error;
  };
  return call("cudaEventDestroy", destroy, on_error::give_back_still);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record("cudaEventRecord", event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return record("cudaEventRecordWithFlags", event, stream, flags);
}

// Waiting for an event that was never recorded is no wait. Only the records made so far count.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return call("cudaStreamWaitEvent", [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    CUevent_st& e = m.at(event);
    if (flags != 0) return cudaErrorInvalidValue;
    if (!e.last && !e.captured) return cudaSuccess;
    if (s.capturing || e.captured) {
      captured_wait(s, e);
      return cudaSuccess;
    }
    if (e.last) submit(m, s, {.name = "a wait", .device = s.device, .after = {e.last}});
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call("cudaEventQuery", [&](machine& m, auto&) {
    CUevent_st& e = m.at(event);
    require_not_captured(e);
    require_no_capture(m);
    if (e.last && !e.last->done()) return cudaErrorNotReady;
    guard_idle_memory();
    return e.device->error.load();  // which it may have got since we asked for the event
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call("cudaEventSynchronize", [&](machine& m, auto& lock) {
    CUevent_st& e = m.at(event);
    require_not_captured(e);
    require_no_capture(m);
    if (!e.last) return cudaSuccess;
    device_ptr const device = e.device;
    return wait_for({e.last}, *device, lock);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return call("cudaEventElapsedTime", [&](machine& m, auto&) {
    CUevent_st& a = m.at(start);
    CUevent_st& b = m.at(end);
    require_not_captured(a);
    require_not_captured(b);
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    if (!a.timed || !b.timed || !a.last || !b.last || a.device != b.device)
      return cudaErrorInvalidResourceHandle;
    if (!a.last->done() || !b.last->done()) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(b.last->time() - a.last->time()).count();
    return cudaSuccess;
  });
}
