// Definitions of placed_memory.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/fill/placed_memory.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/held_memory.hpp>
#include <ashlar/schedule/metrics.hpp>

namespace ashlar {

ASHLAR_INLINE void placed_memory::begin(int device, int count) {
  if (!is_limited()) return;
  device_ = device;
  stages_ = static_cast<std::size_t>(step_.stage_count());
  stashes_.assign(stages_ * step_.route.size(), {});
  weight_stashes_.assign(stashes_.size(), {});
  outputs_.assign(work_.parts.size(), {});
  levels_.assign(1, {0, saturating_sum(options_.limit.memory.resident_on(step_.where, device),
                                       work_state_on(work_, view_of(options_.work_bytes), device))});
  for (int i = 0; i < count; ++i) add_step(i * length_, i == 0);
}

ASHLAR_INLINE byte_count placed_memory::peak_with(part_id part, tick start, tick end) const {
  if (!is_limited()) return 0;
  placed_memory with = *this;
  return with.hold(part, start, end);
}

ASHLAR_INLINE byte_count placed_memory::hold(part_id part, tick start, tick end) {
  if (!is_limited()) return 0;
  byte_count peak = 0;
  auto const job = static_cast<std::size_t>(part.job);
  value& own = nth(outputs_, work_.number(part));
  own.until = max_of(own.until, end);
  for (work_edge const& e : work_.readers(part))
    if (!is_part(e.to)) own.until = max_of(own.until, end_of(e.to));
  if (!work_.readers(part).empty() && job < options_.work_bytes.size())
    own.bytes = options_.work_bytes[job].output;
  peak = max_of(peak, add(own.bytes, start, own.until));
  for (work_edge const& e : work_.inputs(part)) {
    value& v = value_of(e.from);
    if (v.until >= end) continue;
    peak = max_of(peak, add(v.bytes, v.until, end));
    v.until = end;
  }
  return max_of(peak, most(start, end));
}

ASHLAR_INLINE void placed_memory::add_step(tick shift, bool first) {
  memory_model const& memory = options_.limit.memory;
  held_memory passes(step_, memory, step_.mode);
  for (time_slot const& t : nth(step_.order, device_)) {
    tick const end = step_.end_of(t, device_) + shift;
    for (pass const* what = &t.what; what != nullptr; what = t.after(what))
      set(t.start + shift, passes.taken_by(*what));
    for (pass const* what = &t.what; what != nullptr; what = t.after(what)) {
      byte_count const given_back = passes.given_back_by(*what);
      set(end, -given_back);
      bool const frees = step_.mode == execution_mode::inference ? what->kind == pass_kind::forward
                                                                 : gives_weight_gradient(what->kind);
      if (!first || !frees) continue;
      stage_memory const& m = memory.of(what->stage, what->micro_batch);
      byte_count const of_weights = step_.mode == execution_mode::inference ? 0 : m.weight_stash;
      std::size_t const i = index(*what);
      stashes_[i] = {end, m.given_back_by(what->kind, step_.mode) - of_weights};
      weight_stashes_[i] = {end, of_weights};
    }
  }
}

ASHLAR_INLINE void placed_memory::set(tick from, byte_count more) {
  byte_count const bytes = levels_.back().bytes + more;
  if (levels_.back().from == from)
    levels_.back().bytes = bytes;
  else
    levels_.push_back({from, bytes});
}

ASHLAR_INLINE byte_count placed_memory::add(byte_count bytes, tick from, tick to) {
  if (bytes == 0 || to <= from) return 0;
  cut(from);
  cut(to);
  for (level& l : levels_)
    if (l.from >= from && l.from < to) l.bytes = saturating_sum(l.bytes, bytes);
  return most(from, to);
}

ASHLAR_INLINE byte_count placed_memory::most(tick from, tick to) const {
  byte_count found = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i)
    if (levels_[i].from < to && (i + 1 == levels_.size() || levels_[i + 1].from > from))
      found = max_of(found, levels_[i].bytes);
  return found;
}

ASHLAR_INLINE void placed_memory::cut(tick at) {
  std::size_t i = levels_.size();
  while (levels_[i - 1].from > at) --i;
  if (levels_[i - 1].from == at) return;
  levels_.insert(levels_.begin() + static_cast<std::ptrdiff_t>(i), {at, levels_[i - 1].bytes});
}

ASHLAR_INLINE placed_memory::value& placed_memory::value_of(pass what) {
  if (work_.is_collective(what)) what = work_.inputs(what)[0].from;
  if (is_part(what)) return nth(outputs_, work_.number(part_of(what)));
  bool const is_stash = what.kind == pass_kind::forward || what.kind == pass_kind::recompute;
  return (is_stash ? stashes_ : weight_stashes_)[index(what)];
}

ASHLAR_INLINE tick placed_memory::end_of(pass what) const {
  for (timed_pass const t : each_pass(nth(step_.order, device_)))
    if (t.what == what) return step_.end_of(t, device_);
  return 0;
}

}  // namespace ashlar
