// Devices of several processes: NCCL's sends and receives, and sums by exchanges of parts.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/cuda/process_group.hpp>
#include <ashlar/cuda/sums.hpp>
#include <ashlar/cuda/transport.hpp>
#include <ashlar/run/contributions.hpp>
#include <ashlar/run/members.hpp>

#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar::cuda {

// Each rendezvous is one group of NCCL calls (a sum is two). On any lane, it starts on the GPU after the
// rendezvous before it, so that NCCL's kernels run in one order on all GPUs.
class nccl_transport : public transport {
 public:
  // Takes one plan for each of the group's local devices. Throws std::invalid_argument for elements that
  // cannot be summed.
  nccl_transport(process_group& group, program_view const& p, std::vector<device_plan const*> plans,
                 numerics sums_as)
      : group_(&group), view_(p), sums_as_(sums_as) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      local_device const& d = group.devices()[i];
      on_gpu const here(d.gpu);
      ends_.push_back(
          {group.communicator_of(i), device_memory(contributions::bytes(*plans[i])), nullptr});
      place_[d.number] = i;
      for (int at = 0; at < plans[i]->size(); ++at)
        if (auto const& s = plans[i]->at(at); run_detail::meets_others(s.what) && sums(s.what))
          check_summable(s.collective().element);
    }
  }

  void step_begins() override {
    transport::step_begins();
    for (end& e : ends_) e.last = nullptr;
  }
  std::string failure() override { return group_->failure(); }
  void abort() override { group_->abort(); }
  void guarded(std::function<void()> const& act, std::function<void()> const& look) override {
    group_->guard(act, look);
  }

 private:
  struct end {
    ncclComm_t communicator;
    device_memory scratch;  // what others send of this one's parts
    queue* last;            // that NCCL was called on; none: nothing in this step
  };

  end& end_of(posted const& p) { return ends_[place_.at(p.number)]; }

  void start(std::span<posted const> together) override {
    for (posted const& p : together) follow_last(p);
    if (together[0].code == opcode::send || together[0].code == opcode::receive)
      return group_->calls([&] {
        for (posted const& p : together) transfer(p);
      });
    if (is_sum(together[0])) {
      if (is_left_to_library(together[0])) return sum_by_library(together);
      exchange(
          together, [](posted const& p, int m) { return part_of(p.collective, m); },
          [this](posted const& p, int m) { return contribution(p, m); });
      for (posted const& p : together) add_up(p);
    }
    if (together[0].code == opcode::all_gather)
      for (posted const& p : together) keep_own(p);
    if (together[0].code != opcode::reduce_scatter)
      exchange(
          together,
          [](posted const& p, int) { return part_of(p.collective, p.collective.group.member); },
          [](posted const& p, int m) { return part_of(p.collective, m); });
  }

  static bool is_sum(posted const& p) {
    return p.code == opcode::all_reduce || p.code == opcode::reduce_scatter;
  }
  // Sums over all devices can use the communicator of everyone. Those of smaller groups are rare and
  // small in a pipeline.
  bool is_left_to_library(posted const& p) const {
    return sums_as_ == numerics::any_order && p.code == opcode::all_reduce
           && p.collective.group.size == group_->size() && p.collective.element != element_type::opaque;
  }

  // Goes behind what NCCL was last called for, perhaps on another lane.
  void follow_last(posted const& p) {
    end& e = end_of(p);
    if (e.last != nullptr && e.last != p.on) {
      on_gpu const here(p.on->gpu);
      ASHLAR_CUDA(cudaEventRecord, e.last->mark, e.last->stream);
      ASHLAR_CUDA(cudaStreamWaitEvent, p.on->stream, e.last->mark, 0);
    }
    e.last = p.on;
  }

  void transfer(posted const& p) {
    buffer const b = p.transfer.bytes;
    if (b.empty()) return;
    int const peer = number_of(view_, p.transfer.site.rank, p.transfer.peer);
    if (p.code == opcode::send)
      ASHLAR_CUDA(ncclSend, b.data(), b.size(), ncclUint8, peer, end_of(p).communicator, p.on->stream);
    else
      ASHLAR_CUDA(ncclRecv, b.data(), b.size(), ncclUint8, peer, end_of(p).communicator, p.on->stream);
  }

  // Each member sends out(p, m) to every other member m and receives in(p, m) of it.
  template <class Out, class In>
  void exchange(std::span<posted const> together, Out out, In in) {
    group_->calls([&] {
      for (posted const& p : together) {
        collective_group const& g = p.collective.group;
        std::vector<int> const members = members_of(view_, g, p.collective.site.rank);
        for (int m = 0; m < g.size; ++m) {
          if (m == g.member) continue;
          int const peer = nth(members, m);
          ncclComm_t const c = end_of(p).communicator;
          if (buffer const b = out(p, m); !b.empty())  // parts of small values may be empty
            ASHLAR_CUDA(ncclSend, b.data(), b.size(), ncclUint8, peer, c, p.on->stream);
          if (buffer const b = in(p, m); !b.empty())
            ASHLAR_CUDA(ncclRecv, b.data(), b.size(), ncclUint8, peer, c, p.on->stream);
        }
      }
    });
  }

  buffer contribution(posted const& p, int member) {
    return contributions(end_of(p).scratch.data()).of(p.collective, member);
  }

  void add_up(posted const& p) {
    on_gpu const here(p.on->gpu);
    collective_call const& c = p.collective;
    buffer const mine = part_of(c, c.group.member);
    std::vector<std::byte const*> terms;
    if (p.code == opcode::reduce_scatter) terms.push_back(c.shard.data());
    for (int m = 0; m < c.group.size; ++m) terms.push_back(contribution(p, m).data());
    set_sum(c.element, p.code == opcode::reduce_scatter ? c.shard.data() : mine.data(), terms,
            mine.size(), p.on->stream);
  }

  static void keep_own(posted const& p) {
    buffer const mine = part_of(p.collective, p.collective.group.member), shard = p.collective.shard;
    if (mine.size() != shard.size())
      throw std::length_error("a shard of weights is not as large as its part of the whole");
    if (!mine.empty())
      ASHLAR_CUDA(cudaMemcpyAsync, mine.data(), shard.data(), mine.size(), cudaMemcpyDeviceToDevice,
                  p.on->stream);
  }

  void sum_by_library(std::span<posted const> together) {
    group_->calls([&] {
      for (posted const& p : together) {
        buffer const b = p.collective.whole;
        element_type const e = p.collective.element;
        std::size_t const size = e == element_type::f64 ? 8 : e == element_type::f32 ? 4 : 2;
        ncclDataType_t const type = e == element_type::f64   ? ncclFloat64
                                    : e == element_type::f32 ? ncclFloat32
                                                             : ncclBfloat16;
        ASHLAR_CUDA(ncclAllReduce, b.data(), b.data(), b.size() / size, type, ncclSum,
                    end_of(p).communicator, p.on->stream);
      }
    });
  }

  process_group* group_;
  program_view view_;
  numerics sums_as_;
  std::vector<end> ends_;             // of the group's local devices
  std::map<int, std::size_t> place_;  // in ends_, by number
};

}  // namespace ashlar::cuda
