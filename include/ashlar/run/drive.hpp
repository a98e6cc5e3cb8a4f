// Ways to drive a plan: one thread per lane, or everything from one thread onto queues. poll.hpp drives
// it step by step, as requests complete.
#pragma once

#include <ashlar/run/able.hpp>
#include <ashlar/run/contract.hpp>
#include <ashlar/run/device_plan.hpp>

namespace ashlar {

namespace run_detail {

// Missing verbs are refused before the first step (check_able), so there is nothing left to do here.
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

}  // namespace run_detail

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
  return run_detail::can_reduced<W, typename D::queue> && sums_gradient(s.what);
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

// What is put on its queue from now on starts after the instructions that this one waits for.
template <class D>
void wait_before(device_plan const& plan, int index, D& d) {
  auto& q = d.queue_of(plan.at(index).what.lane);
  for (int const other : plan.events().waits_of(index))
    d.wait(q, d.event_of(plan.events().event_of(other)));
}

// Puts one instruction on its queue, after the events that it waits for.
template <class W, class D>
void issue(device_plan const& plan, int index, W& w, D& d) {
  if (plan.at(index).is_second) return;
  wait_before(plan, index, d);
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

}  // namespace ashlar
