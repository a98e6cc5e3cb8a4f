// Definitions of modulo_block.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/modulo_block.hpp>
#include <ashlar/schedule/compose.hpp>

namespace ashlar {

ASHLAR_INLINE modulo_block::modulo_block(schedule const& s, memory_limit const& limit, tick period)
    : period_(period),
      chunks_(s.graph.sequence_chunks()),
      passes_(take(s, micro_batches{chunks_}), limit.memory),
      needs_(passes_.what.size()),
      moment_(passes_.what.size(), 0),
      start_(moment_),
      number_(s.stage_count(), chunks_, precedence_graph::nobody) {
  find_needs(s);
  find_sequence(s.stage_count());
  for (std::size_t d = 0; d < passes_.orders.size(); ++d) {
    devices_.push_back({passes_.orders[d], 0});
    room_.push_back(limit.free_on(s.where, static_cast<int>(d)));
    tick left = period_;
    unit_.push_back(1);
    for (int x : passes_.orders[d]) {
      left -= nth(passes_.length, x);
      unit_[d] = max_of(unit_[d], nth(passes_.takes, x));
    }
    left_.push_back(left);
    if (left > 0) devices_[d].order.push_back(precedence_graph::nobody);
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) place_passes(d);
}

ASHLAR_INLINE tick modulo_block::cost() {
  run();
  tick longest = 0, sum = 0, too_many = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    tick first = max_tick, last = 0;
    for (int x : passes_.orders[d]) {
      first = min_of(first, nth(start_, x));
      last = max_of(last, nth(start_, x) + nth(passes_.length, x));
    }
    if (passes_.orders[d].empty()) continue;
    longest = max_of(longest, last - first);
    sum += last - first;
    too_many = saturating_sum(too_many, excess(d));
  }
  tick const mean = sum / static_cast<tick>(devices_.size());
  return saturating_sum(longest + mean, saturating_product(too_many, period_) / parts);
}

ASHLAR_INLINE tick modulo_block::too_many() const {
  tick sum = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) sum = saturating_sum(sum, excess(d));
  return sum / parts + (sum % parts > 0 ? 1 : 0);
}

ASHLAR_INLINE void modulo_block::find_needs(schedule const& s) {
  for (std::size_t x = 0; x < pass_count(); ++x) {
    pass const what = passes_.what[x];
    number_.at(what.micro_batch, what.stage, result_of(what.kind)) = static_cast<int>(x);
    for (int const y : passes_.needs[x])
      needs_[x].push_back({y, s.cost.transfer(nth(passes_.device, y), passes_.device[x])});
  }
}

ASHLAR_INLINE void modulo_block::find_sequence(int stage_count) {
  for (int k = 0; k < chunks_; ++k)
    for (int stage = 0; stage < stage_count; ++stage)
      sequence_.push_back(number_.at(k, stage, result::activation));
  for (int k = chunks_ - 1; k >= 0; --k)
    for (int stage = stage_count - 1; stage >= 0; --stage)
      for (result const r : {result::recomputed, result::input_gradient, result::weight_gradient}) {
        int const x = number_.at(k, stage, r);
        if (x != precedence_graph::nobody) sequence_.push_back(x);
      }
}

ASHLAR_INLINE void modulo_block::place_passes(std::size_t device) {
  tick t = devices_[device].first;
  for (int x : devices_[device].order) {
    if (x != precedence_graph::nobody) nth(moment_, x) = t;
    t += x == precedence_graph::nobody ? left_[device] : nth(passes_.length, x);
  }
}

ASHLAR_INLINE tick modulo_block::ready(int x) const {
  tick t = 0;
  for (need const& n : nth(needs_, x))
    t = max_of(t, nth(start_, n.pass) + nth(passes_.length, n.pass) + n.transfer);
  return t;
}

ASHLAR_INLINE void modulo_block::run() {
  for (int const x : sequence_) {
    tick t = ready(x);
    if (nth(passes_.what, x).kind == pass_kind::recompute) {
      nth(start_, x) = t - nth(passes_.length, x);  // at the earliest, for now
      pass const what = nth(passes_.what, x);
      t = max_of(t, ready(number_.at(what.micro_batch, what.stage, result::input_gradient))
                        - nth(passes_.length, x));
    }
    nth(start_, x) = t + floor_remainder(nth(moment_, x) - t, period_);
  }
}

ASHLAR_INLINE tick modulo_block::excess(std::size_t d) const {
  byte_count held = 0, most = 0;
  for (int x : passes_.orders[d]) {
    tick const before = -floor_quotient(nth(start_, x) - devices_[d].first, period_);
    held += (nth(passes_.takes, x) - nth(passes_.gives, x)) * before;
  }
  for (int x : devices_[d].order) {
    if (x == precedence_graph::nobody) continue;
    held += nth(passes_.takes, x);
    most = max_of(most, held);
    held -= nth(passes_.gives, x);
  }
  return most > room_[d] ? saturating_product(most - room_[d], parts) / unit_[d] : 0;
}

}  // namespace ashlar
