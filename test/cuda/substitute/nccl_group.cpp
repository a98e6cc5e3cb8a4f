// Calls of a group become one operation of each communicator.
#include "nccl_communicator.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace nccl_substitute {
namespace {

namespace cs = cuda_substitute;

struct group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<pending_call> calls;
  std::vector<pending_make> makes;
};
thread_local group current;

void add_tip(CUstream_st& s, std::size_t node) {
  if (std::find(s.tips.begin(), s.tips.end(), node) == s.tips.end()) s.tips.push_back(node);
}

// The operation comes after all that its streams were given and after the communicator's last one; what
// the streams are given next comes after it.
void submit_in_capture(cs::machine& m, communicator& c, std::vector<CUstream_st*> const& streams,
                       cs::operation next) {
  CUstream_st& first = *streams[0];
  for (CUstream_st* s : streams)
    for (std::size_t tip : s->tips) add_tip(first, tip);
  if (c.captured.lock() == first.capturing) add_tip(first, c.last_node);
  cs::submit(m, first, std::move(next));
  c.captured = first.capturing;
  c.last_node = first.tips[0];
  for (CUstream_st* s : streams) s->tips = first.tips;
}

void submit_now(cs::machine& m, communicator& c, std::vector<CUstream_st*> const& streams,
                cs::operation next) {
  if (c.last) next.after.push_back(c.last);
  for (CUstream_st* s : streams)
    if (s != streams[0] && s->last) next.after.push_back(s->last);
  c.last = next.done;
  cs::submit(m, *streams[0], std::move(next));
  for (CUstream_st* s : streams)
    if (s != streams[0])
      cs::submit(m, *s, {.name = "a wait for NCCL", .device = s->device, .body = {}, .after = {c.last}});
}

ncclResult_t submit(communicator_ptr const& c, std::vector<cudaStream_t> const& handles,
                    operation_call what) {
  cs::machine& m = cs::the_machine();
  std::lock_guard const lock(m.mutex);
  try {
    std::vector<CUstream_st*> streams;
    for (cudaStream_t h : handles)
      streams.push_back(h == nullptr ? m.devices.at(static_cast<std::size_t>(c->device))->legacy
                                     : &m.at(h));
    for (CUstream_st* s : streams)
      if (s->capturing != streams[0]->capturing)
        return refuse(ncclInvalidUsage, "a group on a stream that captures and one that does not");
    cs::operation next{.kind = cs::work::device, .name = what.name, .device = streams[0]->device};
    next.body = [c, what = std::move(what)] {  // each launch of a graph has its own
      operation_call now = what;
      c->traffic.run(now);
    };
    if (streams[0]->capturing)
      submit_in_capture(m, *c, streams, std::move(next));
    else
      submit_now(m, *c, streams, std::move(next));
    return ncclSuccess;
  } catch (cs::refused const& r) {
    return refuse(ncclUnhandledCudaError, std::string("CUDA: ") + cudaGetErrorString(r.error));
  }
}

ncclResult_t submit_all(std::vector<pending_call>& calls) {
  while (!calls.empty()) {
    communicator_ptr const c = calls.front().comm;
    operation_call what;
    what.name = calls.size() == 1 ? calls.front().name : "a group of NCCL's calls";
    std::vector<cudaStream_t> streams;
    for (pending_call& p : calls) {
      if (p.comm != c) continue;
      std::move(p.transfer.begin(), p.transfer.end(), std::back_inserter(what.transfers));
      std::move(p.collective.begin(), p.collective.end(), std::back_inserter(what.collectives));
      if (std::find(streams.begin(), streams.end(), p.stream) == streams.end())
        streams.push_back(p.stream);
    }
    std::erase_if(calls, [&c](pending_call const& p) { return p.comm == c; });
    if (ncclResult_t const code = submit(c, streams, std::move(what)); code != ncclSuccess) return code;
  }
  return ncclSuccess;
}

ncclResult_t finish(group done) {
  if (done.error != ncclSuccess) return done.error;
  if (ncclResult_t const code = make_all(done.makes); code != ncclSuccess) return code;
  std::vector<communicator_ptr> waits;
  if (chosen().calls_wait)
    for (pending_call const& p : done.calls) waits.push_back(p.comm);
  if (ncclResult_t const code = submit_all(done.calls); code != ncclSuccess) return code;
  for (communicator_ptr const& c : waits) {
    while (!has_ended(*c)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (c->traffic.aborted()) return refuse(ncclRemoteError, "the communicator was aborted meanwhile");
  }
  return ncclSuccess;
}

}  // namespace

ncclResult_t add_to_group(pending_call call) {
  if (call.comm->traffic.error() != ncclSuccess)
    return in_group(refuse(call.comm->traffic.error(), "a call on a communicator that has failed"));
  current.calls.push_back(std::move(call));
  return current.depth > 0 ? ncclSuccess : finish(std::exchange(current, {}));
}

ncclResult_t add_to_group(pending_make call) {
  current.makes.push_back(std::move(call));
  return current.depth > 0 ? ncclSuccess : finish(std::exchange(current, {}));
}

ncclResult_t in_group(ncclResult_t code) {
  if (current.depth > 0 && current.error == ncclSuccess) current.error = code;
  return code;
}

void forget_group() { current = {}; }

}  // namespace nccl_substitute

using namespace nccl_substitute;

ncclResult_t ncclGroupStart() {
  if (ncclResult_t const code = injected("ncclGroupStart"); code != ncclSuccess) return code;
  ++current.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  ncclResult_t const code = injected("ncclGroupEnd");
  if (current.depth == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  in_group(code);
  if (--current.depth > 0) return code;
  return finish(std::exchange(current, {}));
}
