// Capture: the operations of capturing streams become nodes of a graph.
#include "graph.hpp"

#include <algorithm>

namespace cuda_substitute {
namespace {

thread_local cudaStreamCaptureMode interaction = cudaStreamCaptureModeGlobal;

void require_valid(capture const& c) {
  if (c.invalid) throw refused{cudaErrorStreamCaptureInvalidated};
}

// Whether the capture does not allow this thread calls that might depend on captured work.
bool prohibits(capture const& c) {
  bool const own = c.thread == std::this_thread::get_id() && c.mode != cudaStreamCaptureModeRelaxed;
  switch (interaction) {
    case cudaStreamCaptureModeGlobal:
      return own || c.mode == cudaStreamCaptureModeGlobal;
    case cudaStreamCaptureModeThreadLocal:
      return own;
    case cudaStreamCaptureModeRelaxed:
      return false;
  }
  return true;
}

void merge(std::vector<std::size_t>& into, std::vector<std::size_t> const& from) {
  for (std::size_t n : from)
    if (std::find(into.begin(), into.end(), n) == into.end()) into.push_back(n);
}

// Whether all that the capture's streams were given comes before the end of its origin.
bool joined(capture const& c) {
  std::vector<bool> before_end(c.nodes.size());
  for (std::size_t n : c.origin->tips) before_end[n] = true;
  for (std::size_t n = c.nodes.size(); n-- > 0;)
    if (before_end[n])
      for (std::size_t earlier : c.nodes[n].after) before_end[earlier] = true;
  return std::all_of(c.streams.begin(), c.streams.end(), [&](cudaStream_t s) {
    return std::all_of(s->tips.begin(), s->tips.end(), [&](std::size_t n) { return before_end[n]; });
  });
}

}  // namespace

void join(CUstream_st& stream, std::shared_ptr<capture> const& c, std::vector<std::size_t> tips) {
  stream.capturing = c;
  stream.tips = std::move(tips);
  stream.lane = c->streams.size();
  c->streams.push_back(&stream);
}

void end(machine& m, std::shared_ptr<capture> c) {
  for (cudaStream_t s : c->streams) {
    s->capturing = nullptr;
    s->tips.clear();
  }
  c->ended = true;
  m.captures.erase(c);
}

void invalidate(capture& c, cudaError_t error) {
  c.invalid = true;
  throw refused{error};
}

void require_no_capture(machine& m) {
  bool prohibited = false;
  for (auto const& c : m.captures)
    if (prohibits(*c)) c->invalid = prohibited = true;
  if (prohibited) throw refused{cudaErrorStreamCaptureUnsupported};
}

void require_no_capture_on(machine& m, device_state const& device) {
  bool prohibited = false;
  for (auto const& c : m.captures)
    for (cudaStream_t s : c->streams)
      if (s->device.get() == &device) c->invalid = prohibited = true;
  if (prohibited) throw refused{cudaErrorStreamCaptureUnsupported};
}

void require_not_capturing(CUstream_st const& stream) {
  if (!stream.capturing) return;
  require_valid(*stream.capturing);
  invalidate(*stream.capturing, cudaErrorStreamCaptureUnsupported);
}

void require_not_captured(CUevent_st const& event) {
  if (!event.captured) return;
  if (event.captured->ended) throw refused{cudaErrorInvalidValue};
  invalidate(*event.captured, cudaErrorCapturedEvent);
}

void captured_record(CUstream_st const& stream, CUevent_st& event) {
  require_valid(*stream.capturing);
  event.captured = stream.capturing;
  event.tips = stream.tips;
}

void captured_wait(CUstream_st& stream, CUevent_st const& event) {
  auto const& own = stream.capturing;
  auto const& there = event.captured;
  if (own) require_valid(*own);
  if (!there) invalidate(*own, cudaErrorStreamCaptureIsolation);
  if (there->ended) {
    if (own) own->invalid = true;
    throw refused{cudaErrorInvalidValue};
  }
  require_valid(*there);
  if (!own) {
    if (&stream == stream.device->legacy) invalidate(*there, cudaErrorStreamCaptureImplicit);
    join(stream, there, event.tips);
  } else if (own == there) {
    merge(stream.tips, event.tips);
  } else {
    own->invalid = true;
    invalidate(*there, cudaErrorStreamCaptureMerge);
  }
}

node& add_node(CUstream_st& stream, operation what) {
  capture& c = *stream.capturing;
  require_valid(c);
  std::size_t const number = c.nodes.size();
  c.nodes.push_back({std::move(what), std::move(stream.tips), stream.lane, nullptr});
  stream.tips = {number};
  return c.nodes.back();
}

}  // namespace cuda_substitute

using namespace cuda_substitute;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call("cudaStreamBeginCapture", [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
      return cudaErrorInvalidValue;
    if (&s == s.device->legacy) return cudaErrorStreamCaptureUnsupported;
    if (s.capturing) return cudaErrorIllegalState;
    auto const c = std::make_shared<capture>();
    c->mode = mode;
    c->thread = std::this_thread::get_id();
    c->origin = stream;
    join(s, c, {});
    m.captures.insert(c);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  auto const finish = [&](machine& m, auto&) {
    *graph = nullptr;
    CUstream_st& s = m.at(stream);
    std::shared_ptr<capture> const c = s.capturing;
    if (!c) return cudaErrorIllegalState;
    if (c->origin != stream) invalidate(*c, cudaErrorStreamCaptureUnmatched);
    if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != std::this_thread::get_id()) {
      end(m, c);
      return cudaErrorStreamCaptureWrongThread;
    }
    bool const complete = joined(*c);
    end(m, c);
    if (c->invalid) return cudaErrorStreamCaptureInvalidated;
    if (!complete) return cudaErrorStreamCaptureUnjoined;
    *graph = new CUgraph_st;
    (*graph)->handles.resize(c->nodes.size());
    (*graph)->lanes = c->streams.size();
    (*graph)->nodes = std::make_shared<std::vector<node> const>(std::move(c->nodes));
    m.graphs.insert(*graph);
    return cudaSuccess;
  };
  return call("cudaStreamEndCapture", finish);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call("cudaStreamIsCapturing", [&](machine& m, auto&) {
    CUstream_st& s = m.at(stream);
    *status = !s.capturing           ? cudaStreamCaptureStatusNone
              : s.capturing->invalid ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call("cudaThreadExchangeStreamCaptureMode", [&](machine&, auto&) {
    std::swap(*mode, interaction);
    return cudaSuccess;
  });
}
