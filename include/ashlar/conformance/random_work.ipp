// Definitions of random_work.hpp.
#pragma once

#include <ashlar/conformance/random_work.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/turns.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ashlar::conformance {

ASHLAR_INLINE random_work::random_work(schedule s, std::uint64_t seed, bool with_state)
    : s_(std::move(s)), engine_(seed), with_state_(with_state) {
  auto const add = [&](std::size_t d, std::size_t index) {
    all_.push_back({s_.order[d][index], static_cast<int>(d), {}});
  };
  // Passes that take no time come after their inputs.
  bool const in_turns = s_.cost.passes.has_instants() && take_turns(s_, add).ok();
  if (!in_turns) all_.clear();
  for (std::size_t d = 0; d < s_.order.size() && !in_turns; ++d)
    for (std::size_t i = 0; i < s_.order[d].size(); ++i) add(d, i);
  merge_sort(all_, [&](item const& a, item const& b) {
    return a.slot.start != b.slot.start ? a.slot.start < b.slot.start : !in_turns && a.device < b.device;
  });
}

ASHLAR_INLINE schedule random_work::with_jobs(int count) && {
  for (int job = 0; job < count; ++job)
    if (below(3) == 0)
      add_sum();
    else
      add_job(1 + below(3), false);
  for (auto& order : s_.order) order.clear();
  for (item const& i : all_)
    if (!i.follows) nth(s_.order, i.device).push_back(i.slot);
  s_.work = work_graph(jobs_, edges_);
  return squeeze(std::move(s_));
}

ASHLAR_INLINE std::vector<random_work::item>::iterator random_work::random_place() {
  return all_.begin() + below(static_cast<int>(all_.size()) + 1);
}

ASHLAR_INLINE bool random_work::is_kept(pass what) const {
  if (what.kind == pass_kind::backward_weight) return false;
  pass const again{pass_kind::recompute, what.stage, what.micro_batch};
  return what.kind != pass_kind::forward
         || std::none_of(all_.begin(), all_.end(), [&](item const& i) { return i.slot.what == again; });
}

ASHLAR_INLINE void random_work::add_readers(pass what, int device, std::vector<item>::iterator from) {
  for (; from != all_.end(); ++from) {
    time_slot const& t = from->slot;
    for (pass const* reader = &t.what; reader != nullptr; reader = t.after(reader))
      if (from->device == device && !is_part(*reader) && below(6) == 0)
        edges_.push_back({what, *reader});
  }
}

ASHLAR_INLINE void random_work::add_part(part_id part, int device, bool is_summed) {
  auto const place = all_.insert(random_place(), {{part, 0}, device, false, is_summed});
  for (auto i = all_.begin(); i != place; ++i)
    for (pass const* what = &i->slot.what; what != nullptr; what = i->slot.after(what))
      if (i->device == device && !i->is_summed && below(4) == 0
          && (is_part(*what) ? precedes(*what, part) : is_kept(*what)))
        edges_.push_back({*what, part});
  if (!is_summed) add_readers(part, device, place + 1);
}

ASHLAR_INLINE void random_work::add_job(int parts, bool each_device) {
  int const job = static_cast<int>(jobs_.size());
  work_job& made = jobs_.emplace_back();
  if (below(3) == 0 && with_state_) made.does = compute_job{.state = own_state{}};
  for (int k = 0; k < parts; ++k)
    made.parts.push_back({each_device ? k : below(devices()), 1 + below(3)});
  for (int k = 0; k < parts; ++k) add_part({job, k}, nth(jobs_.back().parts, k).device, each_device);
}

ASHLAR_INLINE void random_work::add_sum() {
  int const parts = 1 + below(devices()), summed = static_cast<int>(jobs_.size());
  add_job(parts, true);
  int const job = summed + 1;
  work_job& made = jobs_.emplace_back();
  made.does = all_reduce_job{.over_ranks = below(2) == 0};
  tick const duration = below(3);
  for (int k = 0; k < parts; ++k) {
    int const order = parts - 1 - k;  // of summation: not that of the devices
    made.parts.push_back({order, duration});
    edges_.push_back({part_id{summed, order}, part_id{job, k}});
  }
  auto last = all_.begin();
  for (auto i = all_.begin(); i != all_.end(); ++i)
    if (is_part(i->slot.what) && part_of(i->slot.what).job == summed) last = i;
  auto const at = last - all_.begin() + 1;
  for (int k = 0; k < parts; ++k) {
    part_id const what{job, k};
    all_.insert(all_.begin() + at, {{what, 0}, parts - 1 - k, true, false});
  }
  for (int k = 0; k < parts; ++k) add_readers(part_id{job, k}, parts - 1 - k, all_.begin() + at + parts);
}

}  // namespace ashlar::conformance
