// Ways to drive a plan: one thread per lane, or everything from one thread onto queues. poll.hpp drives
// it step by step, as requests complete.
#pragma once

#include <ashlar/run/able.hpp>
#include <ashlar/run/contract.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/worker_ref.hpp>

namespace ashlar {

// The worker of a device's passes, of any class.
template <class D>
using worker_of = worker_ref<typename D::queue>;

// Starts an instruction on the queue of its lane. Missing verbs are refused before the first step
// (check_able).
template <class D>
void post(device_plan const& plan, int index, worker_of<D> w, D& d) {
  device_plan::step const& s = plan.at(index);
  auto& q = d.queue_of(s.what.lane);
  switch (s.what.code) {
    case opcode::compute:
      if (s.what.overlaps_next) return w.overlapped(q, s.frame(), plan.at(index + 1).frame());
      return w.compute(q, s.frame());
    case opcode::send:
      d.send(q, s.transfer());
      return;
    case opcode::receive:
      d.receive(q, s.transfer());
      return;
    case opcode::all_reduce:
      if constexpr (collective_backend<D>)
        if (run_detail::meets_others(s.what)) d.all_reduce(q, s.collective());
      return;
    case opcode::all_gather:
      if constexpr (collective_backend<D>) {
        collective_call c = s.collective();
        c.shard = w.shard(s.what.group, s.parameters().site.replica);
        d.all_gather(q, c);
      }
      return;
    case opcode::reduce_scatter:
      if constexpr (collective_backend<D>) d.reduce_scatter(q, s.collective());
      return;
    case opcode::measure:
      return w.measure(q, s.parameters());
    case opcode::clear:
      d.clear(q, s.parameters().gradient);
      return;
    case opcode::optimize:
      return w.optimize(q, s.parameters());
    case opcode::offload:
      if constexpr (offloading_backend<D>) d.offload(q, s.copy());
      return;
    case opcode::reload:
      if constexpr (offloading_backend<D>) d.reload(q, s.copy());
      return;
    case opcode::release:  // it only has an event to wait for
      return;
  }
}

// Whether the worker's `reduced` is called when the instruction is done, because its gradient is
// complete then.
template <class Q>
bool is_notified(worker_ref<Q> w, device_plan::step const& s) {
  return w.is_notified() && sums_gradient(s.what);
}

// Calls the worker's `reduced`, if is_notified().
template <class D>
void notify(device_plan const& plan, int index, worker_of<D> w, D& d) {
  device_plan::step const& s = plan.at(index);
  if (is_notified(w, s)) w.reduced(d.queue_of(s.what.lane), s.parameters());
}

// Records the event of an instruction on its queue, if it has one.
template <class D>
void record(device_plan const& plan, int index, D& d) {
  if (int const event = plan.events().event_of(index); event >= 0)
    d.record(d.queue_of(plan.at(index).what.lane), d.event_of(event));
}

// Makes later operations on its queue start after the instructions that this one waits for.
template <class D>
void wait_before(device_plan const& plan, int index, D& d) {
  auto& q = d.queue_of(plan.at(index).what.lane);
  for (int const other : plan.events().waits_of(index))
    d.wait(q, d.event_of(plan.events().event_of(other)));
}

// Puts one instruction on its queue, after the events that it waits for.
template <class D>
void issue(device_plan const& plan, int index, worker_of<D> w, D& d) {
  if (plan.at(index).is_second) return;
  wait_before(plan, index, d);
  post<D>(plan, index, w, d);
  notify<D>(plan, index, w, d);
  record(plan, index, d);
}

// Runs a lane of a step, on a thread of its own: for devices whose verbs and wait() return when the
// operation is done. Events must be unrecorded when a step begins.
template <class D>
void run_lane(device_plan const& plan, int lane, worker_of<D> w, D& d) {
  for (int const index : plan.lane(lane)) issue<D>(plan, index, w, d);
}

// Runs a step of a device from one thread: for devices whose verbs return at once and whose queues wait
// by themselves. A driver of several devices issues in the order of issue_order() instead.
template <class D>
void issue_stream(device_plan const& plan, worker_of<D> w, D& d) {
  for (int index = 0; index < plan.size(); ++index) issue<D>(plan, index, w, d);
}

// Makes all queues wait for the end of the step. Later operations are another step.
template <class D>
void join(device_plan const& plan, D& d) {
  for (int lane = 0; lane < plan.lane_count(); ++lane)
    for (int const last : plan.events().last())
      d.wait(d.queue_of(lane), d.event_of(plan.events().event_of(last)));
}

}  // namespace ashlar
