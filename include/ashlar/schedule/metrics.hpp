// Metrics of a schedule. All are linear in the passes. Those that look up costs, stages or micro-batches
// throw violation{check_form(s)}; makespan() and span() look at no passes but the first and last of each
// device.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/held_memory.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

namespace metrics_detail {

// Calls visit(first start, last end) for each device that has passes.
template <class Visit>
constexpr void for_each_stay(schedule const& s, Visit visit) {
  must_be(check_tables(s));
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    auto const& order = s.order[d];
    if (order.empty()) continue;
    must_be(check_slot(s, d, 0));
    must_be(check_slot(s, d, order.size() - 1));
    visit(order.front().start, s.end_of(order.back(), static_cast<int>(d)));
  }
}

}  // namespace metrics_detail

// End of the last pass, in ticks from 0.
constexpr tick makespan(schedule const& s) {
  tick last = 0;
  metrics_detail::for_each_stay(s, [&](tick, tick end) { last = max_of(last, end); });
  return last;
}

// The longest device time, max over devices of (last end - first start): the cost of a step when
// consecutive steps interlock without a barrier.
constexpr tick span(schedule const& s) {
  tick longest = 0;
  metrics_detail::for_each_stay(s,
                                [&](tick start, tick end) { longest = max_of(longest, end - start); });
  return longest;
}

// Ticks of compute of each device.
constexpr std::vector<tick> busy(schedule const& s) {
  must_have_form(s);
  std::vector<tick> all;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    tick sum = 0;
    for (time_slot const& t : s.order[d])
      sum = saturating_sum(sum, s.end_of(t, static_cast<int>(d)) - t.start);
    all.push_back(sum);
  }
  return all;
}

// Time in which a device does nothing.
struct idle_time {
  tick start = 0;
  tick end = 0;

  constexpr tick length() const { return end - start; }

  friend constexpr bool operator==(idle_time const&, idle_time const&) = default;
};

// Idle share of the busiest device within `length` ticks: 1 - busy / length; 0 for an empty schedule.
constexpr double idle_share(schedule const& s, tick length) {
  tick most = 0;
  for (tick b : busy(s)) most = b > most ? b : most;
  return length == 0 ? 0.0 : 1.0 - static_cast<double>(most) / static_cast<double>(length);
}
constexpr double bubble_rate(schedule const& s) { return idle_share(s, makespan(s)); }
constexpr double bubble_rate_span(schedule const& s) { return idle_share(s, span(s)); }

// Share of `length` ticks in which the device that does most of the model's own work does none of it: it
// idles, runs a forward again, or works for other systems; 0 for an empty schedule.
constexpr double overhead_within(schedule const& s, tick length) {
  must_have_form(s);
  tick most = 0;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    tick own = 0;
    for (time_slot const& t : s.order[d])
      if (t.what.kind != pass_kind::recompute && t.what.kind != pass_kind::work)
        own = saturating_sum(own, s.end_of(t, static_cast<int>(d)) - t.start);
    most = max_of(most, own);
  }
  return length == 0 ? 0.0 : 1.0 - static_cast<double>(most) / static_cast<double>(length);
}
constexpr double overhead(schedule const& s) { return overhead_within(s, makespan(s)); }
constexpr double overhead_span(schedule const& s) { return overhead_within(s, span(s)); }

// Whether there is a pass that runs a forward again.
constexpr bool recomputes(schedule const& s) {
  for (auto const& order : s.order)
    for (time_slot const& t : order)
      if (t.what.kind == pass_kind::recompute) return true;
  return false;
}

// Stages that run every forward again, ascending.
constexpr std::vector<int> recomputed_stages(schedule const& s) {
  must_be(check_slots(s));
  std::vector<int> again(static_cast<std::size_t>(s.stage_count()), 0), found;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what.kind == pass_kind::recompute) ++nth(again, t.what.stage);
  for (int stage = 0; stage < s.stage_count(); ++stage)
    if (int const count = nth(again, stage);
        count > 0 && count * s.graph.size_of(stage) == s.micro_batch_count())
      found.push_back(stage);
  return found;
}

// State that jobs keep on a device from step to step.
constexpr byte_count work_state_on(work_view const& work, list_view<job_bytes> bytes, int device) {
  byte_count sum = 0;
  for (int job = 0; job < work.job_count() && job < static_cast<int>(bytes.size()); ++job) {
    bool lives = false;
    for (int k = 0; k < work.part_count(job); ++k) lives = lives || work.part({job, k}).device == device;
    if (lives && work.keeps_state(job)) sum = saturating_sum(sum, nth(bytes, job).state);
  }
  return sum;
}

// The most that each device holds at once: the memory that is always taken, and the values of passes and
// work. `work_bytes`: one for each job, or none of any size. Throws violation also as check() of the
// memory, must_stay() and check_work_bytes() do.
constexpr std::vector<byte_count> peak_memory(schedule const& s, memory_model const& memory,
                                              list_view<job_bytes> work_bytes = {}) {
  must_have_form(s);
  must_stay(s.where);
  must_be(check(memory, s.stage_count(), s.micro_batch_count()));
  must_be(check_work_bytes(work_bytes));
  std::vector<byte_count> peaks;
  held_memory passes(s, memory, s.mode, work_bytes);
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    int const device = static_cast<int>(d);
    byte_count held = saturating_sum(memory.resident_on(s.where, device),
                                     work_state_on(s.work.view(), work_bytes, device)),
               peak = held;
    // Passes of a device follow each other: order is enough.
    for (timed_pass const t : each_pass(s.order[d])) {
      held += passes.taken_by(t.what);
      peak = max_of(peak, held);
      held -= passes.given_back_by(t.what);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

// Most chunk activations that each device holds at once. One is held from the start of its forward to
// the end of the last pass that reads it: the fused backward or weight pass (without training, the
// forward itself), or work that reads of the forward or its recompute. Throws violation as must_stay()
// does.
constexpr std::vector<int> peak_activations(schedule const& s) {
  must_stay(s.where);
  std::vector<int> peaks;
  if (!s.work.empty()) {
    memory_limit const counted = chunk_activations(0);
    for (byte_count peak : peak_memory(s, counted.memory)) peaks.push_back(static_cast<int>(peak));
    return peaks;
  }
  // Counts in few steps: constant evaluation asks for it often.
  bool const trains = s.mode == execution_mode::training;
  for (auto const& order : s.order) {
    int held = 0, peak = 0;
    for (time_slot const& t : order) {
      if (t.what.kind == pass_kind::forward && ++held > peak) peak = held;
      pass_kind const ends = t.is_pair() ? t.beside.kind : t.what.kind;
      if (trains ? gives_weight_gradient(ends) : ends == pass_kind::forward) --held;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

// The peak of the device that holds most.
constexpr int peak_of_all(schedule const& s) {
  int most = 0;
  for (int peak : peak_activations(s)) most = max_of(most, peak);
  return most;
}

}  // namespace ashlar
