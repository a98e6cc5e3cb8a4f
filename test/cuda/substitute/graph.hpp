// The result of a capture.
#pragma once

#include "machine.hpp"

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace cuda_substitute {

struct node {
  operation what;
  std::vector<std::size_t> after;  // numbers of nodes, all lower
  std::size_t lane = 0;            // the captured stream; its nodes are a chain
  cudaEvent_t records = nullptr;   // at each launch
};

// The capture of one origin stream and of the streams that joined.
struct capture {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  cudaStream_t origin = nullptr;
  bool invalid = false, ended = false;
  std::vector<cudaStream_t> streams;  // a lane each
  std::vector<node> nodes;
};

// The stream captures from now on, after those nodes.
void join(CUstream_st& stream, std::shared_ptr<capture> const& c, std::vector<std::size_t> tips);

// Its streams capture no longer.
void end(machine& m, std::shared_ptr<capture> c);

// Throws refused{error} after making the capture invalid.
[[noreturn]] void invalidate(capture& c, cudaError_t error);

// Throws refused if a stream of the device captures, in any mode.
void require_no_capture_on(machine& m, device_state const& device);
// Throws refused if the stream captures: waiting for it is no operation.
void require_not_capturing(CUstream_st const& stream);
// Throws refused if the event was last recorded in a capture.
void require_not_captured(CUevent_st const& event);

// Both streams of the wait and the record may capture or not. Throw refused.
void captured_record(CUstream_st const& stream, CUevent_st& event);
void captured_wait(CUstream_st& stream, CUevent_st const& event);
// A node of the capture, which becomes the stream's only tip.
node& add_node(CUstream_st& stream, operation what);

}  // namespace cuda_substitute

struct CUgraphNode_st {};

struct CUgraph_st {
  std::shared_ptr<std::vector<cuda_substitute::node> const> nodes;
  std::size_t lanes = 0;
  std::vector<CUgraphNode_st> handles;
};
