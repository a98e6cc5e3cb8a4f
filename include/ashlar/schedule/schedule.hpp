// A schedule: timed passes on each device, in order.
#pragma once

#include <ashlar/core/cost.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/model/work.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// A piece of a device's time: one pass, or a forward and a backward, an input or a weight pass that run
// as a pair. Both passes of a pair start and end together: no half of one can be put elsewhere. It lasts
// for the schedule's cost of the pass (for work, of that part of the job), or of the pair.
struct time_slot {
  pass what;  // of a pair the forward
  // The other pass of a pair. By default, as any other forward: none, and `what` is alone.
  pass beside;
  tick start = 0;

  // A pass, or a forward and another pass beside it, from a tick on. (A constructor: with the start last
  // a slot takes 32 bytes, not 40.)
  constexpr time_slot(pass alone_or_forward = {}, tick from = 0, pass other = {})
      : what(alone_or_forward), beside(other), start(from) {}

  constexpr bool is_pair() const { return beside.kind != pass_kind::forward; }
  // Whether it is one pass, or a pair of kinds that can be one.
  constexpr bool is_right() const {
    return !is_pair() || (what.kind == pass_kind::forward && is_backward(beside.kind));
  }
  // The other pass after `what` is done: for (pass const* x = &t.what; x != nullptr; x = t.after(x)) has
  // all passes of a slot. Cheap to evaluate while compiling.
  constexpr pass const* after(pass const* done) const {
    return done == &what && beside.kind != pass_kind::forward ? &beside : nullptr;
  }

  friend constexpr bool operator==(time_slot const&, time_slot const&) = default;
};

// A pass of a device's order, and the slot that it has, alone or with another.
struct timed_pass {
  time_slot const* slot = nullptr;
  pass what;
  tick start = 0;
};

// for (timed_pass const t : each_pass(s.order[d])): the passes of a device in their order, of a pair the
// forward first. Refers to the order.
class each_pass {
 public:
  // Goes over the passes, slot by slot.
  class iterator {
   public:
    // Stands at the first pass of a slot, or behind the last slot.
    constexpr iterator(time_slot const* slot) : slot_(slot) {}
    // The pass that it is at.
    constexpr timed_pass operator*() const {
      return {slot_, is_second_ ? slot_->beside : slot_->what, slot_->start};
    }
    // Goes on to the other pass of the slot, or to the next slot.
    constexpr iterator& operator++() {
      is_second_ = !is_second_ && slot_->is_pair();
      if (!is_second_) ++slot_;
      return *this;
    }
    friend constexpr bool operator==(iterator const&, iterator const&) = default;

   private:
    time_slot const* slot_;
    bool is_second_ = false;
  };

  // The passes of this order.
  constexpr explicit each_pass(std::vector<time_slot> const& order)
      : first_(order.data()), last_(order.data() + order.size()) {}

  constexpr iterator begin() const { return first_; }
  constexpr iterator end() const { return last_; }

 private:
  time_slot const *first_, *last_;
};

// A schedule: which device runs which pass when. check() says whether it is valid; lower() makes a
// program of it.
struct schedule {
  stage_graph graph;
  placement where;
  std::vector<int> route;  // of each micro-batch
  costs cost;
  std::vector<std::vector<time_slot>> order;  // by device
  execution_mode mode = execution_mode::training;
  work_graph work =
      {};  // what other systems have filled in; collectives follow by themselves, in no order

  constexpr int device_count() const { return where.device_count(); }
  constexpr int stage_count() const { return where.stage_count(); }
  constexpr int micro_batch_count() const { return static_cast<int>(route.size()); }
  // Whether there is such a pass, of the pipeline or of work.
  constexpr bool knows(pass const& what) const {
    return what.kind < pass_kind::work ? graph.has(what, micro_batch_count()) : work.view().knows(what);
  }
  // The device of a pass of the pipeline, by the route of its micro-batch. Both exist.
  constexpr int device_of(pass const& what) const {
    int const taken = route.data()[what.micro_batch];
    return what.kind == pass_kind::forward || !where.moves()
               ? where.device_of(taken, what.stage)
               : where.backward_device_of(taken, what.stage);
  }
  // The end of a slot, or of a pass in one, on this device.
  constexpr tick end_of(time_slot const& t, int device) const {
    bool const is_usual = !t.is_pair() && t.what.kind != pass_kind::work;
    return t.start + (is_usual ? cost.of(t.what, device) : length_of_unusual(t, device));
  }
  constexpr tick end_of(timed_pass const& t, int device) const { return end_of(*t.slot, device); }

  friend constexpr bool operator==(schedule const&, schedule const&) = default;

 private:
  // The time of work or a pair; a function of its own, so that compilers inline the rest.
  constexpr tick length_of_unusual(time_slot const& t, int device) const {
    if (t.what.kind == pass_kind::work) return work.view().duration(part_of(t.what));
    return cost.of_pair(t.what, t.beside, device);
  }
};

// Takes pairs apart: each forward, then the other pass, at the same start.
constexpr std::vector<time_slot> without_pairs(std::vector<time_slot> const& order) {
  std::vector<time_slot> apart;
  for (timed_pass const t : each_pass(order)) apart.push_back({t.what, t.start});
  return apart;
}

// The number of passes that the devices run, both of each pair. Linear in the slots.
constexpr std::size_t pass_count(std::vector<time_slot> const& order) {
  std::size_t count = order.size();
  for (time_slot const& t : view_of(order)) count += t.is_pair() ? 1u : 0u;
  return count;
}
constexpr std::size_t pass_count(schedule const& s) {
  std::size_t count = 0;
  for (auto const& order : s.order) count += pass_count(order);
  return count;
}

// A schedule whose devices have no passes yet. Its stages form a chain.
constexpr schedule schedule_without_passes(placement where, std::vector<int> route, costs cost = {}) {
  return {.graph = chain(stages{where.stage_count()}),
          .where = where,
          .route = std::move(route),
          .cost = std::move(cost),
          .order = std::vector<std::vector<time_slot>>(static_cast<std::size_t>(where.device_count()))};
}

}  // namespace ashlar
