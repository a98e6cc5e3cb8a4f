// The devices of this process, and a step on their streams.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/arena.hpp>
#include <ashlar/cuda/device.hpp>
#include <ashlar/cuda/progress.hpp>
#include <ashlar/cuda/ranges.hpp>
#include <ashlar/cuda/step_timer.hpp>
#include <ashlar/program/issue_order.hpp>
#include <ashlar/run/device_status.hpp>
#include <ashlar/run/drive.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// A device of this process, with everything that it runs on. It does not move, because streams refer to
// it.
struct member {
  int number;
  int gpu;
  device_memory arena;
  pinned_memory away;  // where it offloads to
  device_plan plan;
  std::unique_ptr<device> on;
  progress_marks marks;
  instruction_ranges ranges;
  std::optional<step_timer> times;
  event end;  // of a lane, where a step is joined

  // Leaves all of its memory to work that may never end.
  void leave() {
    arena.leave();
    away.leave();
    on->leave();
    marks.leave();
    if (times) times->leave();
    static_cast<void>(end.release());
  }
};

// How many waits of a lane for another a step has, and how many there would be without the reduction to
// those that no other wait implies.
struct wait_counts {
  std::size_t kept = 0, needed = 0;
};
inline wait_counts count_waits(program_view const& p,
                               std::vector<std::unique_ptr<member>> const& members) {
  wait_counts n;
  for (auto const& m : members) {
    wait_table const all = waits(p, m->number % p.device_count);
    for (int i = 0; i < m->plan.size(); ++i) {
      n.needed += all.of(i).size();
      n.kept += m->plan.events().waits_of(i).size();
    }
  }
  return n;
}

// Issues steps for the devices of this process, in the issue order of all devices.
class issuer {
 public:
  // `workers` by rank, null for ranks of other processes; `members` by number.
  issuer(program_view const& p, std::vector<worker_ref<device::queue>> workers,
         std::vector<std::unique_ptr<member>>& members, transport& between)
      : workers_(std::move(workers)), transport_(&between) {
    std::vector<member*> by_number(
        static_cast<std::size_t>(p.device_count) * static_cast<std::size_t>(p.data_ranks), nullptr);
    for (auto& m : members) nth(by_number, m->number) = m.get();
    std::vector<int> device_of(p.instructions.size());
    for (int d = 0; d < p.device_count; ++d)
      for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) nth(device_of, i) = d;
    rendezvous_list const all = rendezvous_order(p);
    auto const add = [&](int i, int rank) {
      int const d = nth(device_of, i);
      if (member* const m = nth(by_number, rank * p.device_count + d))
        parts_.push_back({m, i - stream_begin(p, d), rank});
    };
    for (int k = 0; k < all.size(); ++k) {
      instruction const& first = nth(p.instructions, all.of(k)[0]);
      bool const of_all_ranks = run_detail::meets_others(first) && p.spans_ranks(first);
      for (int rank = 0; rank < p.data_ranks; ++rank) {
        for (int i : all.of(k)) add(i, rank);
        if (!of_all_ranks || rank + 1 == p.data_ranks) end_rendezvous();
      }
    }
  }

  // Puts a step on the streams. Throws what the worker or a call throws, a cuda::error with the device
  // and the instruction.
  void issue() {
    transport_->step_begins();
    for (std::size_t k = 0; k + 1 < begin_.size(); ++k) issue(k);
  }

 private:
  struct part {
    member* of;
    int index;  // in its stream
    int rank;
  };

  void end_rendezvous() {
    if (parts_.size() > begin_.back()) begin_.push_back(parts_.size());
  }

  void issue(std::size_t which) {
    part const* const first = parts_.data() + begin_[which];
    part const* const last = parts_.data() + begin_[which + 1];
    part const* at = first;
    try {
      for (at = first; at != last; ++at)
        if (!is_second(*at)) post_one(*at);
      at = first;
      {
        on_gpu const here(first->of->gpu);
        transport_->meet();
      }
      for (at = first; at != last; ++at)
        if (!is_second(*at)) finish(*at);
    } catch (error const& e) {
      throw e.at("GPU " + std::to_string(at->of->gpu) + ", device " + std::to_string(at->of->number)
                 + ": " + to_string(at->of->plan.at(at->index).what));
    }
  }
  static bool is_second(part const& p) { return p.of->plan.at(p.index).is_second; }

  void post_one(part const& p) {
    member& m = *p.of;
    m.marks.issues(p.index);
    on_gpu const here(m.gpu);
    instruction_ranges::scope const range(m.ranges, p.index);
    cudaStream_t const s = m.on->queue_of(m.plan.at(p.index).what.lane).stream;
    wait_before(m.plan, p.index, *m.on);
    if (m.times) begins(m, p.index, s);
    post(m.plan, p.index, nth(workers_, p.rank), *m.on);
  }
  void finish(part const& p) {
    member& m = *p.of;
    on_gpu const here(m.gpu);
    cudaStream_t const s = m.on->queue_of(m.plan.at(p.index).what.lane).stream;
    if (m.times) ends(m, p.index, s);
    notify(m.plan, p.index, nth(workers_, p.rank), *m.on);
    record(m.plan, p.index, *m.on);
    if (m.marks.is_marked(p.index)) m.marks.report_position(s, p.index);
    m.marks.issues(progress_marks::none);
  }
  static void begins(member& m, int index, cudaStream_t s) {
    m.times->begins(index, s);
    if (m.plan.at(index).what.overlaps_next) m.times->begins(index + 1, s);
  }
  static void ends(member& m, int index, cudaStream_t s) {
    m.times->ends(index, s);
    if (m.plan.at(index).what.overlaps_next) m.times->ends(index + 1, s);
  }

  std::vector<worker_ref<device::queue>> workers_;
  transport* transport_;
  std::vector<part> parts_;
  std::vector<std::size_t> begin_ = {0};  // by rendezvous, and the end
};

}  // namespace ashlar::cuda
