// Checks of sends, receives and collective calls.
#include "nccl_communicator.hpp"
#include "nccl_sums.hpp"
#include "substitute.hpp"

#include <string>
#include <utility>

namespace nccl_substitute {
namespace {

struct memory_use {
  void const* memory;
  std::size_t bytes;
};

// Returns success, or why the call is refused.
ncclResult_t checked(communicator const& c, cudaStream_t stream, ncclDataType_t type,
                     std::vector<memory_use> const& uses) {
  if (size_of(type) == 0) return refuse(ncclInvalidArgument, "there is no such data type");
  if (stream != nullptr && cuda_substitute::device_of(stream) != c.device)
    return refuse(ncclInvalidArgument, "the stream is none of the communicator's device");
  for (memory_use const& u : uses)
    if (u.bytes > 0 && !cuda_substitute::is_device_memory(u.memory, u.bytes, c.device))
      return refuse(ncclInvalidArgument, "the bytes do not lie in memory of the communicator's device");
  return ncclSuccess;
}

ncclResult_t transfer_with(char const* name, bool sends, void const* memory, std::size_t count,
                           ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream) {
  if (ncclResult_t const code = injected(name); code != ncclSuccess) return in_group(code);
  communicator_ptr const c = find(handle);
  if (!c) return in_group(refuse(ncclInvalidArgument, "there is no such communicator"));
  if (peer < 0 || peer >= c->size())
    return in_group(refuse(ncclInvalidArgument, "there is no rank " + std::to_string(peer)));
  std::size_t const bytes = count * size_of(type);
  if (ncclResult_t const code = checked(*c, stream, type, {{memory, bytes}}); code != ncclSuccess)
    return in_group(code);
  auto* const bytes_at = static_cast<std::byte*>(const_cast<void*>(memory));
  return add_to_group({.comm = c,
                       .stream = stream,
                       .name = name,
                       .transfer = {{.peer = peer, .sends = sends, .memory = bytes_at, .bytes = bytes}},
                       .collective = {}});
}

// `sent` and `received`: in counts.
ncclResult_t collect_with(char const* name, void const* from, std::size_t sent_by, void* to,
                          std::size_t received_by, collective_description what, ncclComm_t handle,
                          cudaStream_t stream) {
  if (ncclResult_t const code = injected(name); code != ncclSuccess) return in_group(code);
  communicator_ptr const c = find(handle);
  if (!c) return in_group(refuse(ncclInvalidArgument, "there is no such communicator"));
  if (what.root < 0 || what.root >= c->size())
    return in_group(refuse(ncclInvalidArgument, "there is no root " + std::to_string(what.root)));
  if (what.op < 0 || what.op >= ncclNumOps)
    return in_group(refuse(ncclInvalidArgument, "there is no such operation"));
  if (what.kind == collective_kind::broadcast && c->rank != what.root) from = nullptr;
  auto const type = static_cast<ncclDataType_t>(what.type);
  auto const bytes = [&](std::size_t times) {
    return what.count * size_of(type) * (times == 0 ? static_cast<std::size_t>(c->size()) : times);
  };
  std::vector<memory_use> uses{{to, bytes(received_by)}};
  if (what.kind != collective_kind::broadcast || c->rank == what.root)
    uses.push_back({from, bytes(sent_by)});
  if (ncclResult_t const code = checked(*c, stream, type, uses); code != ncclSuccess)
    return in_group(code);
  if (what.count == 0) return ncclSuccess;
  collective_call call;
  call.what = what;
  call.from = static_cast<std::byte const*>(from);
  call.to = static_cast<std::byte*>(to);
  return add_to_group(
      {.comm = c, .stream = stream, .name = name, .transfer = {}, .collective = {std::move(call)}});
}

// The size of a buffer as a multiple of the count.
constexpr std::size_t once = 1, for_each_rank = 0;

}  // namespace
}  // namespace nccl_substitute

using namespace nccl_substitute;

ncclResult_t ncclSend(void const* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return transfer_with("ncclSend", true, from, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return transfer_with("ncclRecv", false, to, count, type, peer, comm, stream);
}

ncclResult_t ncclBroadcast(void const* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return collect_with("ncclBroadcast", from, once, to, once,
                      {collective_kind::broadcast, type, ncclSum, root, count}, comm, stream);
}

ncclResult_t ncclAllReduce(void const* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collect_with("ncclAllReduce", from, once, to, once,
                      {collective_kind::all_reduce, type, op, 0, count}, comm, stream);
}

ncclResult_t ncclAllGather(void const* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return collect_with("ncclAllGather", from, once, to, for_each_rank,
                      {collective_kind::all_gather, type, ncclSum, 0, count}, comm, stream);
}

ncclResult_t ncclReduceScatter(void const* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return collect_with("ncclReduceScatter", from, for_each_rank, to, once,
                      {collective_kind::reduce_scatter, type, op, 0, count}, comm, stream);
}
