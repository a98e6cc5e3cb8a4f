// Devices of one process: copies between them, and sums by kernels that read the others' memory. Several
// devices may share a GPU.
#pragma once

#include <ashlar/cuda/handles.hpp>
#include <ashlar/cuda/sums.hpp>
#include <ashlar/cuda/transport.hpp>
#include <ashlar/run/contributions.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar::cuda {

// Copies are made by the GPUs' copy engines, so no multiprocessor is busy with them. A slot that was
// sent is free when the copy is done. For GPUs that cannot read each other's memory, CUDA copies through
// the host, and sums are refused.
class peer_transport : public transport {
 public:
  // `gpus` has the GPU of each device. Makes the memory of GPUs readable to each other where that is
  // possible; throws error if it fails.
  explicit peer_transport(std::vector<int> const& gpus) {
    std::set<int> const all(gpus.begin(), gpus.end());
    for (int const from : all)
      for (int const to : all) {
        int can = 0;
        if (from != to) ASHLAR_CUDA(cudaDeviceCanAccessPeer, &can, from, to);
        if (from == to || can == 0) continue;
        on_gpu const here(from);
        cudaError_t const code = cudaDeviceEnablePeerAccess(to, 0);
        if (code == cudaErrorPeerAccessAlreadyEnabled)
          static_cast<void>(cudaGetLastError());
        else
          require(code, "cudaDeviceEnablePeerAccess");
        readable_.insert({from, to});
      }
  }

 private:
  void start(std::span<posted const> together) override {
    if (together[0].code == opcode::send || together[0].code == opcode::receive)
      return copy_between(together);
    std::vector<posted const*> members(together.size());
    for (posted const& p : together)
      members.at(static_cast<std::size_t>(p.collective.group.member)) = &p;
    if (static_cast<int>(members.size()) != members[0]->collective.group.size)
      throw std::logic_error("a collective without some of its members");
    wait_for_all(members);
    if (together[0].code == opcode::all_gather) {
      for (posted const* to : members) gather(*to, members);
    } else {
      for (posted const* p : members) sum(*p, members);
      if (together[0].code == opcode::all_reduce) {
        wait_for_all(members);
        for (posted const* to : members) gather_sums(*to, members);
      }
    }
    wait_for_all(members);
  }

  void copy_between(std::span<posted const> together) {
    if (together.size() != 2 || together[0].code == together[1].code)
      throw std::logic_error("a transfer without its other half");
    bool const send_first = together[0].code == opcode::send;
    posted const &from = together[send_first ? 0 : 1], &to = together[send_first ? 1 : 0];
    if (from.transfer.what != to.transfer.what || from.transfer.bytes.size() != to.transfer.bytes.size())
      throw std::logic_error("a send of " + std::to_string(from.transfer.bytes.size())
                             + " bytes meets the receive of another message, or of "
                             + std::to_string(to.transfer.bytes.size()) + " bytes");
    follow(*from.on, *to.on);
    copy(*from.on, to.transfer.bytes, *to.on, from.transfer.bytes, *from.on);
    follow(*to.on, *from.on);
  }

  // Starts later work on `next` after everything that is on `before` so far.
  static void follow(queue& next, queue& before) {
    ASHLAR_CUDA(cudaEventRecord, before.mark, before.stream);
    ASHLAR_CUDA(cudaStreamWaitEvent, next.stream, before.mark, 0);
  }
  static void wait_for_all(std::vector<posted const*> const& members) {
    queue& leader = *members[0]->on;
    for (std::size_t m = 1; m < members.size(); ++m) follow(leader, *members[m]->on);
    if (members.size() > 1) ASHLAR_CUDA(cudaEventRecord, leader.mark, leader.stream);
    for (std::size_t m = 1; m < members.size(); ++m)
      ASHLAR_CUDA(cudaStreamWaitEvent, members[m]->on->stream, leader.mark, 0);
  }

  // Copies on a stream of `by`.
  static void copy(queue const& by, buffer to, queue const& at, buffer from, queue const& there) {
    if (to.size() != from.size())
      throw std::length_error("the buffers of a collective have different sizes");
    if (to.empty() || to.data() == from.data()) return;
    if (at.gpu == there.gpu)
      ASHLAR_CUDA(cudaMemcpyAsync, to.data(), from.data(), to.size(), cudaMemcpyDeviceToDevice,
                  by.stream);
    else
      ASHLAR_CUDA(cudaMemcpyPeerAsync, to.data(), at.gpu, from.data(), there.gpu, to.size(), by.stream);
  }
  static void gather(posted const& to, std::vector<posted const*> const& members) {
    for (posted const* from : members)
      copy(*to.on, part_of(to.collective, from->collective.group.member), *to.on, from->collective.shard,
           *from->on);
  }
  static void gather_sums(posted const& to, std::vector<posted const*> const& members) {
    for (posted const* from : members) {
      int const whose = from->collective.group.member;
      copy(*to.on, part_of(to.collective, whose), *to.on, part_of(from->collective, whose), *from->on);
    }
  }

  // A member's part of the sum. Nobody else reads or writes that part of its own value.
  void sum(posted const& by, std::vector<posted const*> const& members) const {
    on_gpu const here(by.on->gpu);
    int const mine = by.collective.group.member;
    buffer const part = part_of(by.collective, mine);
    bool const scatters = by.code == opcode::reduce_scatter;
    std::vector<std::byte const*> terms;
    if (scatters) terms.push_back(by.collective.shard.data());
    for (posted const* from : members) {
      if (from->on->gpu != by.on->gpu && !readable_.contains({by.on->gpu, from->on->gpu}))
        throw std::runtime_error("GPU " + std::to_string(by.on->gpu) + " cannot read the memory of GPU "
                                 + std::to_string(from->on->gpu)
                                 + ": their devices cannot add up; use NCCL between them");
      if (from->collective.whole.size() != by.collective.whole.size())
        throw std::length_error("the buffers of a collective have different sizes");
      terms.push_back(part_of(from->collective, mine).data());
    }
    set_sum(by.collective.element, scatters ? by.collective.shard.data() : part.data(), terms,
            part.size(), by.on->stream);
  }

  std::set<std::pair<int, int>> readable_;  // from a GPU, of another
};

}  // namespace ashlar::cuda
