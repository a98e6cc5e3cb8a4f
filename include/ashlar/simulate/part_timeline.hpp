// The time of each part of a schedule's passes, on devices that compute and exchange at the same time.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/braid.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/model/work_view.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/turns.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// A pass that is run part by part: from the start of its first part to the end of its last one.
struct pass_of_parts {
  pass what;
  tick start = 0;
  tick end = 0;

  friend constexpr bool operator==(pass_of_parts const&, pass_of_parts const&) = default;
};

// A part that takes time.
struct timed_part {
  int of = 0;      // its pass, among those of the device
  int number = 0;  // among the parts of the pass
  part_resource on = part_resource::compute;
  tick start = 0;
  tick end = 0;

  friend constexpr bool operator==(timed_part const&, timed_part const&) = default;
};

// The passes and parts of a device, and how long it computes and exchanges.
struct device_parts {
  std::vector<pass_of_parts> passes = {};  // in the order of the device, of a pair the forward first
  std::vector<timed_part> parts = {};      // on one resource, one after another
  tick computing = 0;
  tick exchanging = 0;

  friend constexpr bool operator==(device_parts const&, device_parts const&) = default;
};

// The times of all parts of a schedule, in ticks.
struct part_timeline {
  std::vector<device_parts> devices = {};
  tick makespan = 0;

  friend constexpr bool operator==(part_timeline const&, part_timeline const&) = default;
};

namespace simulate_detail {

// Runs slot after slot, each after all that it waits for.
class part_machine {
 public:
  // Refers to both; the schedule's passes are known, in orders that do not wait for each other.
  constexpr part_machine(schedule const& s, part_costs const& c)
      : s_(s),
        c_(c),
        work_(s.work.view()),
        delays_(c.how == braiding::in_turn_delayed),
        ends_(s.stage_count(), s.micro_batch_count(), work_, tick{-1}),
        on_(s.order.size(), device_resources{}),
        orders_(3 * c.stages.size() * c.stages.size(), braid_order{}),
        line_{.devices = std::vector<device_parts>(s.order.size(), device_parts{})} {}

  // Throws violation{rule::ticks_fit}. To be called once.
  constexpr part_timeline run() {
    diagnosis const d = take_turns(s_, [this](std::size_t device, std::size_t index) {
      run(static_cast<int>(device), s_.order[device][index]);
    });
    if (!d.ok()) refuse(d);
    if (line_.makespan >= max_tick) refuse({.broken = rule::ticks_fit, .number = line_.makespan});
    return std::move(line_);
  }

 private:
  struct running {
    std::vector<pass_part> parts = {};
    int number = 0;  // of the pass on its device
    std::size_t next = 0;
    pass_progress far = {};
  };

  constexpr void run(int device, time_slot const& t) {
    running ahead = begin(device, t.what), back;
    if (t.is_pair()) back = begin(device, t.beside);
    if (!t.is_pair()) {
      while (ahead.next < ahead.parts.size()) run_next(device, ahead);
    } else {
      for (char const is_back : order_of(t, ahead.parts, back.parts))
        run_next(device, is_back != 0 ? back : ahead);
      end(device, back);
    }
    end(device, ahead);
  }

  // A pass that takes no time has its place among those that compute.
  constexpr running begin(int device, pass const& what) {
    running made{.parts = parts(what)};
    made.far.ready = made.far.end = arrival(what);
    std::vector<pass_of_parts>& passes = nth(line_.devices, device).passes;
    made.number = static_cast<int>(passes.size());
    passes.push_back({.what = what, .start = -1});
    if (duration_of(made.parts) > 0) return made;
    tick& computes = nth(on_, device).free[0];
    computes = max_of(computes, made.far.ready);
    passes.back().start = made.far.ready = made.far.end = computes;
    return made;
  }

  constexpr void run_next(int device, running& r) {
    int const number = static_cast<int>(r.next);
    pass_part const& part = r.parts[r.next++];
    tick const duration = s_.cost.on.time_of(part.duration, device);
    if (duration == 0) return;
    device_parts& own = nth(line_.devices, device);
    tick const start = nth(on_, device).run(part, duration, delays_, r.far);
    tick& begins = nth(own.passes, r.number).start;
    if (begins < 0) begins = start;
    own.parts.push_back({r.number, number, part.on, start, saturating_sum(start, duration)});
    tick& busy = part.on == part_resource::exchange ? own.exchanging : own.computing;
    busy = saturating_sum(busy, duration);
  }

  constexpr void end(int device, running const& r) {
    pass_of_parts& own = nth(nth(line_.devices, device).passes, r.number);
    own.end = r.far.end;
    ends_.at(own.what) = own.end;
    line_.makespan = max_of(line_.makespan, own.end);
  }

  // The time when the last input is there.
  constexpr tick arrival(pass const& what) {
    tick last = 0;
    auto const wait = [&](tick end, tick delay) {
      if (end >= 0) last = max_of(last, saturating_sum(end, delay));
    };
    for_each_input(s_.graph, what, [&](result r, int stage, int micro_batch) {
      int const route = nth(s_.route, what.micro_batch);
      wait(ends_.at(micro_batch, stage, r),
           s_.cost.transfer(s_.where.device_of(route, stage, r), s_.device_of(what)));
    });
    for_each_work_input(work_, what, [&](pass from, tick delay) { wait(ends_.at(from), delay); });
    return last;
  }

  constexpr std::size_t stage_of(pass const& what) const {
    return c_.stages.size() == 1 ? 0 : static_cast<std::size_t>(what.stage);
  }

  constexpr std::vector<pass_part> parts(pass const& what) const {
    if (is_part(what))
      return std::vector<pass_part>(1, pass_part{.duration = work_.duration(part_of(what))});
    return parts_of(c_.stages[stage_of(what)], what.kind);
  }

  // The braid, found once for two stages and a kind of backward.
  constexpr braid_order const& order_of(time_slot const& t, std::vector<pass_part> const& ahead,
                                        std::vector<pass_part> const& back) {
    std::size_t const kind = t.beside.kind == pass_kind::backward         ? 0
                             : t.beside.kind == pass_kind::backward_input ? 1
                                                                          : 2;
    braid_order& known = orders_[(stage_of(t.what) * c_.stages.size() + stage_of(t.beside)) * 3 + kind];
    if (known.empty()) known = order_of_pair(ahead, back, c_.how);
    return known;
  }

  schedule const& s_;
  part_costs const& c_;
  work_view work_;
  bool delays_;
  pass_table<tick> ends_;
  std::vector<device_resources> on_;
  std::vector<braid_order> orders_;
  part_timeline line_;
};

}  // namespace simulate_detail

// Runs the parts of all passes as early as can be. A device computes and exchanges at the same time, one
// part each, in the order of its passes and, of a pair, of its braid. A pass begins when its inputs are
// there and its first part's resource is free, while the pass before it may still exchange; it ends with
// its last part, that of a pair with its own. Where pairs delay weights (braiding::in_turn_delayed), the
// parts after a part of weights do not wait for it in a backward alone, either. Messages, work and
// speeds are the schedule's; the times of passes are not. Work computes. On a slow device, each part is
// rounded up.
//
// Without speeds, it is never longer than retime(s, costs) for costs whose passes are costs_of(c), since
// those times meet everything that is waited for here; and as long for a schedule without pairs in which
// nothing exchanges.
//
// Throws violation as squeeze does; rule::tables_agree for parts of no stages, or of another number than
// one or all; rule::no_duration_is_negative; rule::ticks_fit. Linear in parts and in the sweeps of
// take_turns(), and a braid for each two stages that have pairs.
constexpr part_timeline time_parts(schedule s, part_costs const& c) {
  if (diagnosis const d = check(c, s.stage_count()); !d.ok()) refuse(d);
  s = squeeze(std::move(s));
  return simulate_detail::part_machine(s, c).run();
}

constexpr auto time_parts(part_costs c) {
  return closure([c = std::move(c)](auto&& s) { return time_parts(std::forward<decltype(s)>(s), c); });
}

}  // namespace ashlar
