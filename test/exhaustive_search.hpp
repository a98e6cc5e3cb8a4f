// The shortest span and makespan of a tiny workload, by trying the orders of passes on all devices. It
// knows the bounds only as numbers at which a search may stop: a schedule that short has been found.
#pragma once

#include <ashlar/bounds/workload.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace exhaustive_search {

using namespace ashlar;

inline constexpr tick never = std::numeric_limits<tick>::min() / 4;

class search {
 public:
  enum class aim { span, makespan };

  // `in_order`: on each stage, micro-batches of a route take each kind of pass in order.
  search(workload const& w, bool in_order) : search(w, in_order, chain(stages{w.where.stage_count()})) {}
  // Searches stages of any graph, whose edges stand for those of the chain.
  search(workload const& w, bool in_order, stage_graph const& graph) : w_(w), in_order_(in_order) {
    int const S = w.where.stage_count();
    auto const add = [&](pass what, std::vector<int> needs) {
      int const d = w.where.device_of(route_of(what.micro_batch), what.stage);
      jobs_.push_back({what, d, length_of(what, d), std::move(needs), {}, 0});
      left_.resize(static_cast<std::size_t>(w.where.device_count()), 0);
      left_[static_cast<std::size_t>(d)] += jobs_.back().length;
    };
    auto const at = [&](std::vector<int> const& numbers, int s, int m) {
      return numbers[static_cast<std::size_t>(m * S + s)];
    };
    std::vector<int> forwards, gradients(static_cast<std::size_t>(w.micro_batch_count * S), -1);
    for (int m = 0; m < w.micro_batch_count; ++m)
      for (int s = 0; s < S; ++s) {
        std::vector<int> needs;
        for (int before : graph.predecessors(s)) needs.push_back(at(forwards, before, m));
        if (m % w.sequence_chunks != 0) needs.push_back(at(forwards, s, m - 1));
        forwards.push_back(static_cast<int>(jobs_.size()));
        add({pass_kind::forward, s, m}, needs);
      }
    for (int turn = 0; w.mode == execution_mode::training && turn < w.micro_batch_count; ++turn)
      for (int s = S; s-- > 0;) {
        int const m = in_turn(turn);
        std::vector<int> needs{at(forwards, s, m)};
        if (w.recomputes(s)) {
          add({pass_kind::recompute, s, m}, {at(forwards, s, m)});
          needs.push_back(static_cast<int>(jobs_.size()) - 1);
        }
        for (int after : graph.successors(s)) needs.push_back(at(gradients, after, m));
        if ((m + 1) % w.sequence_chunks != 0) needs.push_back(at(gradients, s, m + 1));
        int const gradient = gradients[static_cast<std::size_t>(m * S + s)] =
            static_cast<int>(jobs_.size());
        add({w.splits_backward ? pass_kind::backward_input : pass_kind::backward, s, m}, needs);
        if (w.splits_backward) add({pass_kind::backward_weight, s, m}, {gradient});
      }
    auto const p = static_cast<std::size_t>(w.where.device_count());
    last_.assign(p, -1);
    held_.assign(p, 0);
    for (int s = 0; s < S; ++s)
      for (std::size_t d = 0; d < p; ++d)
        if (lives_on(s, static_cast<int>(d))) {
          stage_memory const& m = w.limit.memory.of(s);
          held_[d] += m.weights + m.optimizer_state + m.weight_gradient;
        }
  }

  // Returns the shortest there is, or the first found that is no longer than `enough`. After more than
  // `most_steps` steps: -1.
  tick least(aim what, tick enough, std::int64_t most_steps) {
    aim_ = what;
    enough_ = enough;
    steps_left_ = most_steps;
    best_ = std::numeric_limits<tick>::max();
    append(0, 0, 0);
    return steps_left_ < 0 ? -1 : best_;
  }

 private:
  struct job {
    pass what;
    int device;
    tick length;
    std::vector<int> needs;
    std::vector<tick> since;  // by device: least time from that device's first start to this job's
    tick start;               // as early as the orders allow
    bool done = false;
  };

  // The first micro-batches take the first route, and so on.
  int route_of(int m) const {
    if (w_.on_route.empty()) return 0;
    int route = 0;
    for (int left = m; left >= w_.on_route[static_cast<std::size_t>(route)]; ++route)
      left -= w_.on_route[static_cast<std::size_t>(route)];
    return route;
  }
  bool lives_on(int stage, int device) const {
    for (std::size_t r = 0; r < std::max<std::size_t>(w_.on_route.size(), 1); ++r)
      if (w_.where.device_of(static_cast<int>(r), stage) == device) return true;
    return false;
  }

  // The chunks of a sequence go backward in reverse. This is an involution.
  int in_turn(int m) const {
    int const q = w_.sequence_chunks;
    return m / q * q + q - 1 - m % q;
  }

  bool comes_before(pass x, pass y) const {
    if (x.kind == pass_kind::forward) return x.micro_batch < y.micro_batch;
    return in_turn(x.micro_batch) < in_turn(y.micro_batch);
  }

  static tick slowed(tick time, int percent) { return (100 * time + percent - 1) / percent; }
  tick length_of(pass what, int device) const {
    stage_cost const& c = w_.cost.passes.of(what.stage, what.micro_batch);
    int const percent =
        w_.cost.on.speeds.empty() ? 100 : w_.cost.on.speeds[static_cast<std::size_t>(device)];
    if (what.kind == pass_kind::backward)
      return slowed(c.backward_input, percent) + slowed(c.backward_weight, percent);
    return slowed(c.of(what.kind), percent);
  }
  tick hop(int from, int to) const {
    if (from == to) return 0;
    interconnect const& n = w_.cost.on.links;
    for (link_exception const& e : n.exceptions)
      if (e.from == from && e.to == to) return e.speed.latency;
    for (auto level = n.wider.rbegin(); level != n.wider.rend(); ++level)
      if (from / level->size != to / level->size) return level->between.latency;
    bool const near = n.node_size == 0 || from / n.node_size == to / n.node_size;
    return near ? n.inside.latency : n.between.latency;  // bytes take no time here
  }

  // The bytes of a stage's micro-batch that a device holds when the pass is over.
  std::int64_t held_after(pass what) const {
    stage_memory const& m = w_.limit.memory.of(what.stage, what.micro_batch);
    bool const again = m.checkpoint != stage_memory::all;
    switch (what.kind) {
      case pass_kind::forward:
        return w_.mode == execution_mode::inference ? 0 : again ? m.checkpoint : m.stash;
      case pass_kind::recompute:
        return m.stash;
      case pass_kind::backward_input:
        return (m.stash_left == stage_memory::all ? m.stash : m.stash_left) + m.weight_stash;
      default:
        return 0;
    }
  }
  std::int64_t held_before(pass what) const {
    pass before = what;
    switch (what.kind) {
      case pass_kind::forward:
        return 0;
      case pass_kind::backward_weight:
        before.kind = pass_kind::backward_input;
        return held_after(before);
      case pass_kind::recompute:
        before.kind = pass_kind::forward;
        return held_after(before);
      default:
        return w_.limit.memory.of(what.stage, what.micro_batch).stash;
    }
  }
  // The bytes that it holds at most, during the pass.
  std::int64_t held_during(pass what) const {
    stage_memory const& m = w_.limit.memory.of(what.stage, what.micro_batch);
    if (what.kind == pass_kind::backward || what.kind == pass_kind::backward_input)
      return m.stash + m.weight_stash;
    pass const forward{pass_kind::forward, what.stage, what.micro_batch};
    if (what.kind != pass_kind::forward) return std::max(held_before(what), held_after(what));
    return w_.mode == execution_mode::inference ? m.stash : held_after(forward);
  }

  bool may_run(job const& x) const {
    if (x.done) return false;
    std::int64_t const more = held_during(x.what) - held_before(x.what);
    auto const d = static_cast<std::size_t>(x.device);
    if (held_[d] + more > w_.limit.budget[w_.limit.budget.size() == 1 ? 0 : d]) return false;
    for (int y : x.needs)
      if (!jobs_[static_cast<std::size_t>(y)].done) return false;
    if (!in_order_) return true;
    for (job const& y : jobs_)
      if (!y.done && y.what.kind == x.what.kind && y.what.stage == x.what.stage
          && route_of(y.what.micro_batch) == route_of(x.what.micro_batch)
          && comes_before(y.what, x.what))
        return false;
    return true;
  }

  // Orders are built in the order of starts, ties by device, so that each comes up once. A pass that
  // takes no time may be what a device with a lower number waits for.
  void append(std::size_t count, tick now, int from_device) {
    if (--steps_left_ < 0 || best_ <= enough_) return;
    if (count == jobs_.size()) {
      best_ = std::min(best_, at_least());
      return;
    }
    if (at_least() >= best_) return;
    std::vector<std::size_t> ready;
    for (std::size_t x = 0; x < jobs_.size(); ++x)
      if (may_run(jobs_[x])) {
        place(jobs_[x]);
        bool const was_met = jobs_[x].device < from_device && !w_.cost.passes.has_instants();
        if (jobs_[x].start > now || (jobs_[x].start == now && !was_met)) ready.push_back(x);
      }
    std::stable_sort(ready.begin(), ready.end(),
                     [&](std::size_t x, std::size_t y) { return jobs_[x].start < jobs_[y].start; });
    for (std::size_t const x : ready) {
      job& chosen = jobs_[x];
      auto const d = static_cast<std::size_t>(chosen.device);
      place(chosen);
      int const before = last_[d];
      std::int64_t const change = held_after(chosen.what) - held_before(chosen.what);
      chosen.done = true;
      last_[d] = static_cast<int>(x);
      left_[d] -= chosen.length;
      held_[d] += change;
      append(count + 1, chosen.start, chosen.device);
      held_[d] -= change;
      left_[d] += chosen.length;
      last_[d] = before;
      chosen.done = false;
    }
  }

  // Places it behind the last of its device and what it needs.
  void place(job& x) {
    auto const d = static_cast<std::size_t>(x.device);
    x.start = 0;
    x.since.assign(last_.size(), never);
    if (last_[d] < 0) x.since[d] = 0;
    auto const follow = [&](int number) {
      job const& y = jobs_[static_cast<std::size_t>(number)];
      tick const lag = y.length + hop(y.device, x.device);
      x.start = std::max(x.start, y.start + lag);
      for (std::size_t e = 0; e < last_.size(); ++e)
        if (y.since[e] != never) x.since[e] = std::max(x.since[e], y.since[e] + lag);
    };
    if (last_[d] >= 0) follow(last_[d]);
    for (int y : x.needs) follow(y);
  }

  // No completion of the orders so far is shorter. Starts may be put off: the least span is the largest
  // mean over circles of devices of the time from a first start to the next device's last end.
  tick at_least() const {
    tick longest = 0;
    std::size_t const p = last_.size();
    if (aim_ == aim::makespan) {
      for (std::size_t d = 0; d < p; ++d) longest = std::max(longest, end(d) + left_[d]);
      return longest;
    }
    std::vector<std::size_t> circle;
    for (std::size_t d = 0; d < p; ++d) walk(circle, d, longest);
    return longest;
  }
  void walk(std::vector<std::size_t>& circle, std::size_t next, tick& longest) const {
    if (std::find(circle.begin(), circle.end(), next) != circle.end()) return;
    circle.push_back(next);
    tick sum = 0;
    bool closed = true;
    for (std::size_t i = 0; i < circle.size(); ++i) {
      std::size_t const from = circle[i], to = circle[(i + 1) % circle.size()];
      tick const time = last_[to] < 0 ? never : last(to).since[from];
      closed = closed && time != never;
      if (closed) sum += time + last(to).length + left_[to];
    }
    auto const n = static_cast<tick>(circle.size());
    if (closed) longest = std::max(longest, (sum + n - 1) / n);
    for (std::size_t d = circle[0] + 1; d < last_.size(); ++d) walk(circle, d, longest);
    circle.pop_back();
  }
  job const& last(std::size_t d) const { return jobs_[static_cast<std::size_t>(last_[d])]; }
  tick end(std::size_t d) const { return last_[d] < 0 ? 0 : last(d).start + last(d).length; }

  workload w_;
  bool in_order_;
  aim aim_ = aim::span;
  tick enough_ = 0, best_ = 0;
  std::int64_t steps_left_ = 0;
  std::vector<job> jobs_;
  std::vector<tick> left_;  // by device: work that is still to come
  std::vector<int> last_;   // by device: the last job so far
  std::vector<std::int64_t> held_;
};

}  // namespace exhaustive_search
