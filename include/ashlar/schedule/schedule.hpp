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

// A pass and its start in ticks. Its duration is the schedule's cost of the pass (for work, of that part
// of the job), or of the pair if it shares its slot of time. A forward that overlaps a backward, an
// input or a weight pass stands directly before it in the order; both start and end together, and each
// names the other's stage (overlap() makes them a pair).
struct timed_pass {
  pass what;
  tick start = 0;
  int overlaps = -1;                       // stage of the other pass of the pair; -1: alone
  pass_kind beside = pass_kind::backward;  // of a forward in a pair: the kind of the other pass

  constexpr bool opens_pair() const { return overlaps >= 0 && what.kind == pass_kind::forward; }
  constexpr bool closes_pair() const { return overlaps >= 0 && what.kind != pass_kind::forward; }

  friend constexpr bool operator==(timed_pass const&, timed_pass const&) = default;
};

// Which device runs which pass when. check() says whether it is valid; lower() makes a program of it.
struct schedule {
  stage_graph graph;
  placement where;
  std::vector<int> route;  // of each micro-batch
  costs cost;
  std::vector<std::vector<timed_pass>> order;  // by device
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
    return where.device_of(nth(route, what.micro_batch), what.stage);
  }
  // Of a pass on this device.
  constexpr tick end_of(timed_pass const& t, int device) const {
    bool const is_usual = t.overlaps < 0 && t.what.kind != pass_kind::work;
    return t.start + (is_usual ? cost.of(t.what, device) : length_of_unusual(t, device));
  }

  friend constexpr bool operator==(schedule const&, schedule const&) = default;

 private:
  // The same for work or a pair; a function of its own, so that compilers inline the rest.
  constexpr tick length_of_unusual(timed_pass const& t, int device) const {
    if (t.what.kind == pass_kind::work) return work.view().duration(part_of(t.what));
    pass const forward{pass_kind::forward, t.opens_pair() ? t.what.stage : t.overlaps, 0};
    pass const backward{t.opens_pair() ? t.beside : t.what.kind,
                        t.opens_pair() ? t.overlaps : t.what.stage, 0};
    return cost.of_pair(forward, backward, device);
  }
};

// Makes a forward and what stands behind it a pair, whether they can be one or not. Their starts stay.
constexpr void overlap(timed_pass& forward, timed_pass& backward) {
  forward.overlaps = backward.what.stage;
  forward.beside = backward.what.kind;
  backward.overlaps = forward.what.stage;
}

// Whether the pass at `index` of a device's order is alone or stands right in its pair.
constexpr bool is_paired_right(std::vector<timed_pass> const& order, std::size_t index) {
  timed_pass const& t = order[index];
  if (t.overlaps < 0) return true;
  bool const opens = t.opens_pair();
  if (opens ? index + 1 == order.size() : index == 0) return false;
  timed_pass const& other = order[opens ? index + 1 : index - 1];
  pass_kind const kind = opens ? other.what.kind : t.what.kind;
  return is_backward(kind) && kind == (opens ? t : other).beside && opens != other.opens_pair()
         && other.start == t.start && other.what.stage == t.overlaps && t.what.stage == other.overlaps;
}

// Its devices have no passes yet. Its stages form a chain.
constexpr schedule schedule_without_passes(placement where, std::vector<int> route, costs cost = {}) {
  return {.graph = chain(stages{where.stage_count()}),
          .where = where,
          .route = std::move(route),
          .cost = std::move(cost),
          .order = std::vector<std::vector<timed_pass>>(static_cast<std::size_t>(where.device_count()))};
}

}  // namespace ashlar
