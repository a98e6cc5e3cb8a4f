// Three ways to drive a plan: a thread a lane, all from one thread onto queues, or step by step as
// requests complete.
#pragma once

#include <ashlar/run/contract.hpp>
#include <ashlar/run/device_plan.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar {

namespace run_detail {

[[noreturn]] inline void refuse(instruction const& i, char const* who) {
  throw std::invalid_argument(std::string(who) + " cannot do the instruction " + to_string(i));
}

// What is not there is refused before the first step (check_able), so that nothing is left to do here.
template <class W, class Q>
void compute(W& w, Q& q, frame const& f) {
  switch (f.what.kind) {
    case pass_kind::forward:
      if constexpr (can_forward<W, Q>) w.forward(q, f);
      return;
    case pass_kind::recompute:
      if constexpr (can_recompute<W, Q>) w.recompute(q, f);
      return;
    case pass_kind::backward:
      if constexpr (can_backward<W, Q>) w.backward(q, f);
      return;
    case pass_kind::backward_input:
      if constexpr (can_backward_input<W, Q>) w.backward_input(q, f);
      return;
    case pass_kind::backward_weight:
      if constexpr (can_backward_weight<W, Q>) w.backward_weight(q, f);
      return;
    case pass_kind::work:
      if constexpr (can_work<W, Q>) w.work(q, f);
      return;
  }
}

template <class W, class Q>
constexpr bool has_verb(instruction const& i) {
  switch (i.code) {
    case opcode::compute:
      switch (i.what.kind) {
        case pass_kind::forward:
          return can_forward<W, Q>;
        case pass_kind::recompute:
          return can_recompute<W, Q>;
        case pass_kind::backward:
          return can_backward<W, Q>;
        case pass_kind::backward_input:
        case pass_kind::backward_weight:
          return can_backward_weight<W, Q>;
        case pass_kind::work:
          return true;
      }
      return true;
    case opcode::all_gather:
      return can_shard<W>;
    case opcode::measure:
      return can_measure<W, Q>;
    case opcode::optimize:
      return can_optimize<W, Q>;
    default:
      return true;
  }
}

inline bool meets_others(instruction const& i) {
  switch (i.code) {
    case opcode::all_reduce:
      return i.lane != compute_lane;
    case opcode::all_gather:
    case opcode::reduce_scatter:
      return true;
    default:
      return false;
  }
}

}  // namespace run_detail

// Throws std::invalid_argument for the first instruction that names what is not there (a proved program
// has none), or that the worker has no verb for.
template <class W, class Q>
void check_worker(program_view const& p) {
  require_well_declared<W, Q>();
  for (instruction const& i : p.instructions) {
    auto const require = [&](int n, int count, char const* what) {
      if (n < 0 || n >= count)
        throw std::invalid_argument("the instruction " + to_string(i) + " names a " + what
                                    + " that is not there");
    };
    require(i.lane, p.lane_count, "lane");
    require(i.what.stage, p.stage_count, "stage");
    require(i.what.micro_batch, p.micro_batch_count, "micro-batch");
    if (i.code == opcode::send || i.code == opcode::receive) require(i.peer, p.device_count, "peer");
    if (i.peer < 0 && i.code != opcode::compute) require(i.group, p.groups.count() + 1, "group");
    if (!run_detail::has_verb<W, Q>(i)) run_detail::refuse(i, "the worker");
  }
}

// The same for a worker and a device. Throws violation with check_progress if the device needs more than
// the independent lanes that every proved program allows.
template <class W, class D>
void check_able(program_view const& p) {
  require_device<D>();
  check_worker<W, typename D::queue>(p);
  for (instruction const& i : p.instructions)
    if (!collective_backend<D> && run_detail::meets_others(i)) run_detail::refuse(i, "the device");
  if constexpr (D::needs != progress_level::independent_lanes)
    if (diagnosis const d = check_progress(p, D::needs); !d.ok()) throw violation{d};
}

// Starts what an instruction does, on the queue of its lane.
template <class W, class D>
void post(device_plan const& plan, int index, W& w, D& d) {
  using Q = typename D::queue;
  device_plan::step const& s = plan.at(index);
  Q& q = d.queue_of(s.what.lane);
  switch (s.what.code) {
    case opcode::compute:
      if (!s.what.overlaps_next) return run_detail::compute(w, q, s.frame);
      if constexpr (run_detail::can_overlapped<W, Q>) {
        w.overlapped(q, s.frame, plan.at(index + 1).frame);
      } else {
        run_detail::compute(w, q, s.frame);
        run_detail::compute(w, q, plan.at(index + 1).frame);
      }
      return;
    case opcode::send:
      d.send(q, s.transfer);
      return;
    case opcode::receive:
      d.receive(q, s.transfer);
      return;
    case opcode::all_reduce:
      if constexpr (collective_backend<D>)
        if (run_detail::meets_others(s.what)) d.all_reduce(q, s.collective);
      return;
    case opcode::all_gather:
      if constexpr (collective_backend<D> && run_detail::can_shard<W>) {
        collective_call c = s.collective;
        c.shard = w.shard(s.what.group, s.parameters.site.replica);
        d.all_gather(q, c);
      }
      return;
    case opcode::reduce_scatter:
      if constexpr (collective_backend<D>) d.reduce_scatter(q, s.collective);
      return;
    case opcode::measure:
      if constexpr (run_detail::can_measure<W, Q>) w.measure(q, s.parameters);
      return;
    case opcode::clear:
      d.clear(q, s.parameters.gradient);
      return;
    case opcode::optimize:
      if constexpr (run_detail::can_optimize<W, Q>) w.optimize(q, s.parameters);
      return;
    case opcode::release:  // only to be waited for
      return;
  }
}

// Whether a worker is told of an instruction when it is done.
template <class W, class D>
bool is_told(device_plan::step const& s) {
  return run_detail::can_reduced<W, typename D::queue> && s.what.code == opcode::all_reduce
         && s.what.subject != slot_kind::scalar;
}

// Tells it.
template <class W, class D>
void tell(device_plan const& plan, int index, W& w, D& d) {
  device_plan::step const& s = plan.at(index);
  if constexpr (run_detail::can_reduced<W, typename D::queue>)
    if (is_told<W, D>(s)) w.reduced(d.queue_of(s.what.lane), s.parameters);
}

template <class D>
void record(device_plan const& plan, int index, D& d) {
  if (int const event = plan.events().event_of(index); event >= 0)
    d.record(d.queue_of(plan.at(index).what.lane), d.event_of(event));
}

// Puts one instruction on its queue, behind the events that it waits for.
template <class W, class D>
void issue(device_plan const& plan, int index, W& w, D& d) {
  if (plan.at(index).is_second) return;
  auto& q = d.queue_of(plan.at(index).what.lane);
  for (int const other : plan.events().waits_of(index))
    d.wait(q, d.event_of(plan.events().event_of(other)));
  post(plan, index, w, d);
  tell(plan, index, w, d);
  record(plan, index, d);
}

// A lane of a step, on a thread of its own: for devices whose verbs and wait() return when the thing has
// happened. Events must be unrecorded when a step begins.
template <class W, class D>
void run_lane(device_plan const& plan, int lane, W& w, D& d) {
  for (int const index : plan.lane(lane)) issue(plan, index, w, d);
}

// A step of a device, from one thread: for devices whose verbs return at once and whose queues wait by
// themselves. Who drives several devices issues in the order of issue_order() instead.
template <class W, class D>
void issue_stream(device_plan const& plan, W& w, D& d) {
  for (int index = 0; index < plan.size(); ++index) issue(plan, index, w, d);
}

// All queues wait for the end of the step: what is issued next is another step.
template <class D>
void join(device_plan const& plan, D& d) {
  for (int lane = 0; lane < plan.lane_count(); ++lane)
    for (int const last : plan.events().last())
      d.wait(d.queue_of(lane), d.event_of(plan.events().event_of(last)));
}

// How far a step has come that is polled.
class poll_cursor {
 public:
  explicit poll_cursor(device_plan const& plan)
      : next_(static_cast<std::size_t>(plan.lane_count()), 0), half_(next_.size(), 0) {}

  // Before a step.
  void reset() {
    next_.assign(next_.size(), 0);
    half_.assign(half_.size(), 0);
  }

  bool is_posted(device_plan const& plan, int index) const {
    return plan.position(index) < next_[static_cast<std::size_t>(plan.at(index).what.lane)];
  }
  template <class D>
  bool is_done(device_plan const& plan, int index, D& d) const {
    return is_posted(plan, index) && d.query(d.event_of(plan.events().event_of(index)));
  }
  // Whether the step has ended.
  template <class D>
  bool is_at_end(device_plan const& plan, D& d) const {
    for (int const last : plan.events().last())
      if (!is_done(plan, last, d)) return false;
    return true;
  }

  // Moves a lane on by an instruction, if it can. `post` and `tell` take its index.
  template <class W, class D, class Post, class Tell>
  bool advance(device_plan const& plan, int lane, D& d, Post post, Tell tell) {
    int& next = next_[static_cast<std::size_t>(lane)];
    char& half = half_[static_cast<std::size_t>(lane)];
    if (next == static_cast<int>(plan.lane(lane).size())) return false;
    int const index = plan.lane(lane)[static_cast<std::size_t>(next)];
    bool const waits_to_tell = lane != compute_lane && is_told<W, D>(plan.at(index));
    if (half == 0) {
      for (int const other : plan.events().waits_of(index))
        if (!is_done(plan, other, d)) return false;
      post(index);
      if (waits_to_tell) {
        record(plan, index, d);
        half = 1;
        return true;
      }
    } else if (!d.query(d.event_of(plan.events().event_of(index)))) {
      return false;
    }
    tell(index);
    record(plan, index, d);
    half = 0;
    ++next;
    return true;
  }

 private:
  std::vector<int> next_;   // by lane: instructions posted, and told of
  std::vector<char> half_;  // posted, but the worker has not been told
};

// Posts all that can be posted now, but returns after a pass at the latest; says whether it posted
// anything. Transfers go first. For devices whose verbs return at once, or as soon as the worker has
// computed; the step has ended when cursor.is_at_end().
template <class W, class D, class Post, class Tell>
bool poll(device_plan const& plan, poll_cursor& cursor, D& d, Post post, Tell tell) {
  bool moved = false;
  for (bool again = true; again;) {
    again = false;
    for (int lane = plan.lane_count(); lane-- > first_transfer_lane;)
      while (cursor.advance<W>(plan, lane, d, post, tell)) moved = again = true;
  }
  return cursor.advance<W>(plan, compute_lane, d, post, tell) || moved;
}

template <class W, class D>
bool poll(device_plan const& plan, poll_cursor& cursor, W& w, D& d) {
  return poll<W>(
      plan, cursor, d, [&](int index) { post(plan, index, w, d); },
      [&](int index) { tell(plan, index, w, d); });
}

}  // namespace ashlar
