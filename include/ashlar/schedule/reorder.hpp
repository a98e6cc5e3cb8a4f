// schedule -> schedule: passes move up into gaps. Qi et al., Pipeline Parallelism with Controllable
// Memory (2024), section 2: repeat, squeeze, reorder.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/core/tournament.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// The passes that may move: only those of warm-up and cool-down (until the first micro-batch is through
// the devices, and from when the last one has come in); or all, which may shift passes of the steady
// state against each other.
enum class reordering : unsigned char { at_ends, throughout };

// Moves passes of a schedule up into gaps, in the order of their starts.
class gap_filler {
 public:
  // Refers to the schedule. Throws violation{check_tables(s)}, and violation: rule::every_pass_is_known
  // for a pass out of range or of work, rule::overlapped_passes_are_a_pair for a pair, rule::ticks_fit
  // for a start out of range.
  constexpr explicit gap_filler(schedule& s)
      : s_(s),
        p_(static_cast<std::size_t>(s.device_count())),
        ends_(s.stage_count(), s.micro_batch_count(), absent),
        along_(p_),
        next_(p_, 0),
        lifted_(p_, 0),
        due_(p_) {
    if (diagnosis const d = check_tables(s); !d.ok()) refuse(d);
    for (std::size_t d = 0; d < p_; ++d) enter(d);
  }

  // Moves the passes, in the schedule that the constructor was given.
  constexpr void run(reordering which) {
    bool const all = which == reordering::throughout;
    fill(all ? max_tick : through_);
    if (all) return;
    for (std::size_t d = 0; d < p_; ++d) {
      skip_until_last_in(d);
      lift_weights(d);
    }
    fill(max_tick);
    for (std::size_t d = 0; d < p_; ++d) put_weights_back(d);
  }

 private:
  static constexpr tick absent = -1, lifted = -2;

  // The end of a pass, and the memory held meanwhile.
  struct companion {
    tick end = 0;
    int held = 0;  // by its device while it runs
  };

  // Chunk activations, as peak_activations() counts them. Not held_memory, because this is asked for
  // every pass that another one overtakes, also in constant evaluation. In inference nothing is given
  // back, so memory keeps no pass from moving.
  static constexpr int taken_by(pass what) { return what.kind == pass_kind::forward ? 1 : 0; }
  static constexpr int given_back_by(pass what) { return gives_weight_gradient(what.kind) ? 1 : 0; }

  constexpr tick& end_of(pass what) {
    return ends_.at(what.micro_batch, what.stage, result_of(what.kind));
  }
  constexpr tick length_of(pass what, std::size_t device) const {
    return s_.cost.of(what, static_cast<int>(device));
  }

  // Notes the ends of a device's passes and the memory held meanwhile.
  constexpr void enter(std::size_t device) {
    std::vector<time_slot> const& order = s_.order[device];
    int const m = s_.micro_batch_count();
    along_[device] = dynamic_array<companion>(order.size());
    companion* to = along_[device].data();
    int held = 0;
    for (time_slot const *t = order.data(), *const last = t + order.size(); t != last; ++t, ++to) {
      pass const what = t->what;
      bool const known = s_.graph.has(what, m);
      if (!known || t->is_pair())
        refuse({.broken = known ? rule::overlapped_passes_are_a_pair : rule::every_pass_is_known,
                .first = {.device = static_cast<int>(device), .what = what}});
      if (t->start <= -max_tick || t->start >= max_tick)
        refuse({.broken = rule::ticks_fit,
                .first = {.device = static_cast<int>(device), .what = what},
                .number = t->start});
      held += taken_by(what);
      *to = {t->start + length_of(what, device), held};
      end_of(what) = to->end;
      if (held > most_) most_ = held;
      held -= given_back_by(what);
      if (what.stage != 0) continue;
      if (what.kind == pass_kind::forward && t->start > last_in_) last_in_ = t->start;
      if (gives_input_gradient(what.kind) && t->start < through_) through_ = t->start;
    }
    update_due(device);
  }

  constexpr void skip_until_last_in(std::size_t device) {
    std::vector<time_slot> const& order = s_.order[device];
    time_slot const *t = order.data() + next_[device], *const last = order.data() + order.size();
    while (t != last && t->start <= last_in_) ++t;
    next_[device] = static_cast<std::size_t>(t - order.data());
  }

  // Moves all passes that start before `until`, of all devices in the order of their starts.
  constexpr void fill(tick until) {
    while (due_.earliest() < until) {
      std::size_t const first = due_.winner();
      move_up(first, next_[first]++);
      update_due(first);
    }
  }
  constexpr void update_due(std::size_t device) {
    std::vector<time_slot> const& order = s_.order[device];
    due_.set(device, next_[device] < order.size() ? order[next_[device]].start : max_tick);
  }

  constexpr tick arrival_of_inputs(pass what, std::size_t device) {
    tick latest = 0;
    int const route = nth(s_.route, what.micro_batch);
    for_each_input(s_.graph, what, [&](ashlar::result r, int stage, int micro_batch) {
      tick const end = ends_.at(micro_batch, stage, r);
      if (end < 0) return;
      tick const arrival =
          stage == what.stage
              ? end
              : end + s_.cost.transfer(s_.where.device_of(route, stage), static_cast<int>(device));
      if (arrival > latest) latest = arrival;
    });
    return latest;
  }

  // Moves a pass to the first gap that is long enough, after its inputs, after the passes of its own
  // stage and kind, and such that the device never holds more than the most that any device did.
  // Recomputes stay, because they would hold more if they ran earlier.
  constexpr void move_up(std::size_t device, std::size_t index) {
    time_slot* const order = s_.order[device].data();
    companion* const along = along_[device].data();
    time_slot x = order[index];
    int const stage = x.what.stage;  // apart: g++ compares pairs of fields by way of memory
    pass_kind const kind = x.what.kind;
    if (kind == pass_kind::recompute) return;
    tick const length = along[index].end - x.start, ready = arrival_of_inputs(x.what, device);
    int const more = taken_by(x.what), less = given_back_by(x.what);
    std::size_t place = index;
    tick before = along[index].end;  // where the gap in front of place `at` ends
    for (std::size_t at = index; before >= ready + length; --at) {
      tick const begin = at > 0 && along[at - 1].end > ready ? along[at - 1].end : ready;
      if (begin + length <= before) {
        place = at;
        x.start = begin;
      }
      if (at == 0 || along[at - 1].held + more > most_) break;
      if (along[at - 1].end <= ready)
        break;  // x may need it: with no time of its own, it may start then
      time_slot const& other = order[at - 1];
      if (other.what.stage == stage && other.what.kind == kind) break;
      before = other.start;
    }
    end_of(x.what) = x.start + length;
    for (std::size_t i = index; i > place; --i) {
      order[i] = order[i - 1];
      along[i] = {along[i - 1].end, along[i - 1].held + more - less};
    }
    int const held = place == 0 ? 0 : along[place - 1].held - given_back_by(order[place - 1].what);
    order[place] = x;
    along[place] = {x.start + length, held + more};
  }

  // After its last forward a device has all the memory that it needs, so weight passes may wait.
  constexpr void lift_weights(std::size_t device) {
    std::vector<time_slot>& order = s_.order[device];
    dynamic_array<companion>& along = along_[device];
    std::size_t kept = order.size();
    while (kept > next_[device] && order[kept - 1].what.kind != pass_kind::forward) --kept;
    for (std::size_t i = kept; i < order.size(); ++i)
      if (order[i].what.kind == pass_kind::backward_weight) {
        end_of(order[i].what) = lifted;
        ++lifted_[device];
      } else {
        along[kept] = along[i];
        order[kept++] = order[i];
      }
    while (order.size() > kept) {
      order.pop_back();
      along.pop_back();
    }
    update_due(device);
  }

  // Moves each weight pass into the first gap that is left for it, in the order of their input passes.
  // Those of a stage keep their order, so one walk along the device for each of its stages finds all
  // gaps.
  constexpr void put_weights_back(std::size_t device) {
    std::vector<time_slot>& order = s_.order[device];
    companion* const along = along_[device].data();
    time_slot const* const at = order.data();
    std::size_t const n = order.size();
    dynamic_array<std::size_t> next(static_cast<std::size_t>(s_.stage_count()), 0);  // to try
    for (std::size_t i = 0; i < n; ++i)
      if (at[i].what.kind == pass_kind::backward_weight) nth(next, at[i].what.stage) = i + 1;
    dynamic_array<time_slot> weights;
    dynamic_array<keyed_index> gaps;  // of the weights: in front of which pass
    for (std::size_t i = 0; i < n; ++i) {
      pass const of = at[i].what, weight{pass_kind::backward_weight, of.stage, of.micro_batch};
      if (of.kind != pass_kind::backward_input || end_of(weight) != lifted) continue;
      tick const length = length_of(weight, device), ready = arrival_of_inputs(weight, device);
      std::size_t& gap = nth(next, of.stage);
      if (gap <= i) gap = i + 1;
      tick start = 0;
      for (;; ++gap) {
        start = along[gap - 1].end > ready ? along[gap - 1].end : ready;
        if (gap == n || start + length <= at[gap].start) break;
      }
      along[gap - 1].end = start + length;  // of the pass in front of the gap
      gaps.push_back({static_cast<tick>(gap), weights.size()});
      weights.push_back({weight, start});
    }
    if (weights.size() != lifted_[device])
      refuse({.broken = rule::every_pass_is_present,
              .first = {.device = static_cast<int>(device), .what = {pass_kind::backward_input, 0, 0}}});
    sort_by_key(gaps);
    order.resize(n + weights.size());
    time_slot *from = order.data() + n, *to = order.data() + order.size();
    for (std::size_t i = weights.size(); i > 0; --i) {
      while (from - order.data() > gaps[i - 1].key) *--to = *--from;
      *--to = weights[gaps[i - 1].index];
    }
  }

  schedule& s_;
  std::size_t p_;
  result_table<tick> ends_;
  std::vector<dynamic_array<companion>> along_;  // by device, beside its order
  dynamic_array<std::size_t> next_;              // place of the next pass to move, by device
  dynamic_array<std::size_t> lifted_;            // weight passes, by device
  tournament due_;                               // its start
  int most_ = 0;                                 // held at once by any device
  tick through_ = max_tick, last_in_ = -max_tick;
};

// Fills gaps with later passes. In the order of their starts, each pass goes to the first gap of its
// device that is long enough, after its inputs and after the passes of its own stage and kind. No device
// comes to hold more than the one that held most. The result is squeezed, and is no longer than `s` as
// it is timed, in makespan and span; if that is impossible, `s` is only squeezed. (A schedule that is
// repeated and not yet squeezed may come out longer than by squeezing alone.) O(passes (log devices +
// passes overtaken)). Throws as must_stay(), squeeze() and gap_filler do, and
// violation{rule::every_pass_is_present} for a weight pass without its input pass.
constexpr schedule reorder(schedule const& s, reordering which = reordering::at_ends) {
  must_stay(s.where);
  schedule moved = s;
  gap_filler(moved).run(which);
  moved = squeeze(std::move(moved));
  if (makespan(moved) > makespan(s) || span(moved) > span(s)) return squeeze(s);
  return moved;
}

constexpr auto reorder(reordering which = reordering::at_ends) {
  return closure([=](schedule const& s) { return reorder(s, which); });
}

}  // namespace ashlar
