// Definitions of micro_batch_order.hpp.
#pragma once

#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/micro_batch_order.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ashlar::search_detail {

// A time that no order of the micro-batches of a schedule is below. On one route, its bound: that counts
// what differs as its shortest, and the rest as work. On several, that of micro-batches that are all as
// the shortest, or the work of a device, each on the route on which it gives it least.
inline literal_optional<tick> least_of(schedule const& s, objective aim) {
  auto const of = [&](schedule const& asked) -> literal_optional<tick> {
    auto const least = schedule_bound(asked);
    if (!least) return std::nullopt;
    return aim == objective::span ? least->span : least->makespan;
  };
  bool one_route = true;
  for (int const route : s.route) one_route = one_route && route == s.route[0];
  pass_costs const& c = s.cost.passes;
  if (one_route || c.micro_batches() == 0) return of(s);
  std::vector<stage_cost> shortest;
  for (int stage = 0; stage == 0 || stage < c.stages(); ++stage) {
    shortest.push_back(c.of(stage, 0));
    for (int k = 1; k < c.micro_batches(); ++k) {
      stage_cost const& other = c.of(stage, k);
      for (tick stage_cost::*const time : {&stage_cost::forward, &stage_cost::backward_input,
                                           &stage_cost::backward_weight, &stage_cost::recompute})
        shortest.back().*time = min_of(shortest.back().*time, other.*time);
    }
  }
  schedule alike = s;
  alike.cost.passes = pass_costs(std::move(shortest));
  literal_optional<tick> least = of(alike);
  if (c.overlapped != pass_costs::one_after_the_other || s.mode != execution_mode::training)
    return least;
  tick most = least ? *least : 0;
  for (int d = 0; d < s.device_count(); ++d) {
    tick work = 0;
    for (int k = 0; k < s.micro_batch_count(); ++k) {
      tick own = max_tick;
      for (int const route : s.route) {
        tick sum = 0;
        for (int stage = 0; stage < s.stage_count(); ++stage)
          if (s.where.device_of(route, stage) == d)
            sum = saturating_sum(sum, s.cost.on.time_of(c.of(stage, k), pass_kind::forward, d)
                                          + s.cost.on.time_of(c.of(stage, k), pass_kind::backward, d));
        own = min_of(own, sum);
      }
      work = saturating_sum(work, own);
    }
    most = max_of(most, work);
  }
  return most;
}

// Who takes which place of a schedule.
class place_search {
 public:
  place_search(schedule const& s, order_budget const& budget, memory_limit const* limit)
      : s_(s), budget_(budget), limit_(limit), state_(budget.seed) {
    if (limit_ != nullptr && limit_->memory.micro_batches == 0) limit_ = nullptr;
    auto const m = static_cast<std::size_t>(s.micro_batch_count());
    for (std::size_t k = 0; k < m; ++k) given_.push_back(static_cast<int>(k));
    find_classes();
    work_ = std::vector<tick>(m, 0);
    s.cost.passes.for_each([&](int, int k, stage_cost const& c) {
      if (s.cost.passes.micro_batches() == 0) return;
      tick& sum = nth(work_, k);
      for (pass_kind kind : {pass_kind::forward, pass_kind::backward_input, pass_kind::backward_weight})
        sum = saturating_sum(sum, c.of(kind));
    });
    found_.least = least_of(s, budget.aim);
    found_.best = s;
  }

  ordered_micro_batches run() {
    found_.order = given_;
    found_.reached = time_of(given_);
    fits_ = fits(given_);
    found_.evaluations = 1;
    if (!is_at_bound()) {
      if (count_of_orders() <= budget_.evaluations)
        try_all();
      else
        climb();
    }
    found_.is_best = found_.is_best || is_at_bound();
    found_.best.cost.passes = in_order(s_.cost.passes, found_.order);
    found_.best = squeeze(std::move(found_.best));
    return std::move(found_);
  }

 private:
  // Micro-batches that nothing tells apart have the same class.
  void find_classes() {
    std::vector<int> first;  // of each class
    pass_costs const& c = s_.cost.passes;
    auto const are_alike = [&](int a, int b) {
      for (int stage = 0; stage == 0 || stage < c.stages(); ++stage)
        if (c.of(stage, a) != c.of(stage, b)) return false;
      if (limit_ == nullptr) return true;
      for (int stage = 0; stage < s_.stage_count(); ++stage)
        if (limit_->memory.of(stage, a) != limit_->memory.of(stage, b)) return false;
      return true;
    };
    for (int const k : given_) {
      int own = 0;
      while (own < static_cast<int>(first.size()) && !are_alike(nth(first, own), k)) ++own;
      if (own == static_cast<int>(first.size())) first.push_back(k);
      class_.push_back(own);
    }
    class_count_ = static_cast<int>(first.size());
  }

  // Of which no two are alike; max_tick for more.
  tick count_of_orders() const {
    std::vector<tick> left(static_cast<std::size_t>(class_count_), 0);
    tick count = 1, placed = 0;
    for (int const own : class_) {
      ++placed;
      ++nth(left, own);
      count = saturating_product(count, placed);
      if (count == max_tick) return max_tick;
      count /= nth(left, own);
    }
    return count;
  }

  tick time_of(std::vector<int> const& order) {
    found_.best.cost.passes = in_order(s_.cost.passes, order);
    if (diagnosis const d = order_walk(found_.best).run(); !d.ok()) refuse(d);
    return budget_.aim == objective::span ? span(found_.best) : makespan(found_.best);
  }

  bool fits(std::vector<int> const& order) const {
    if (limit_ == nullptr) return true;
    memory_limit own = *limit_;
    own.memory = in_order(limit_->memory, order);
    return is_within(s_, own);
  }

  bool is_at_bound() const { return fits_ && found_.least && found_.reached == *found_.least; }

  // Its time, max_tick for what does not fit. Keeps the best.
  tick try_order(std::vector<int> const& order) {
    ++found_.evaluations;
    if (!fits(order)) return max_tick;
    tick const time = time_of(order);
    if (!fits_ || time < found_.reached) {
      fits_ = true;
      found_.reached = time;
      found_.order = order;
    }
    return time;
  }

  // In lexicographic order of classes; of the members of a class, the first takes the first place.
  void try_all() {
    std::vector<int> classes = class_;
    std::sort(classes.begin(), classes.end());
    do {
      try_order(of_classes(classes));
      if (is_at_bound()) return;
    } while (std::next_permutation(classes.begin(), classes.end()));
    found_.is_best = fits_;
  }

  std::vector<int> of_classes(std::vector<int> const& classes) const {
    std::vector<int> next(static_cast<std::size_t>(class_count_), 0), order;
    for (int const own : classes) {
      int& k = nth(next, own);
      while (nth(class_, k) != own) ++k;
      order.push_back(k++);
    }
    return order;
  }

  // The order of sizes, shortest first, for the places in this sequence.
  std::vector<int> placed(std::vector<int> const& by_size, std::vector<int> const& places) const {
    std::vector<int> order(by_size.size());
    for (std::size_t i = 0; i < by_size.size(); ++i) nth(order, places[i]) = by_size[i];
    return order;
  }

  std::vector<std::vector<int>> usual_orders() const {
    std::vector<int> by_size = given_;
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](int a, int b) { return nth(work_, a) < nth(work_, b); });
    // In turn from all routes: so each has its share, and neighbours in size stand side by side.
    std::vector<int> turns, rank(given_.size());
    std::vector<int> seen(static_cast<std::size_t>(max_of(1, s_.where.route_count())), 0);
    for (std::size_t k = 0; k < given_.size(); ++k) rank[k] = nth(seen, s_.route[k])++;
    turns = given_;
    std::stable_sort(turns.begin(), turns.end(),
                     [&](int a, int b) { return nth(rank, a) < nth(rank, b); });
    std::vector<std::vector<int>> all;
    std::vector<std::vector<int>> lines{given_};
    if (turns != given_) lines.push_back(turns);
    for (std::vector<int> const& line : lines) {
      std::vector<int> inwards, reversed(line.rbegin(), line.rend());
      for (std::size_t i = 0, j = line.size(); i < j;) {
        inwards.push_back(line[i++]);
        if (i < j) inwards.push_back(line[--j]);
      }
      std::vector<int> const outwards(inwards.rbegin(), inwards.rend());
      for (std::vector<int> const& places : {line, reversed, inwards, outwards})
        all.push_back(placed(by_size, places));
    }
    return all;
  }

  std::size_t below(std::size_t n) {
    state_ += splitmix_step;
    return static_cast<std::size_t>(mixed(state_) % n);
  }

  // Two micro-batches of different classes change places, or one of them moves to the other's.
  void move(std::vector<int>& order) {
    std::size_t const m = order.size(), i = below(m);
    std::size_t j = below(m);
    while (nth(class_, order[i]) == nth(class_, order[j])) j = (j + 1) % m;
    if (below(3) != 0) {
      std::swap(order[i], order[j]);
      return;
    }
    auto const from = order.begin() + static_cast<std::ptrdiff_t>(min_of(i, j)),
               to = order.begin() + static_cast<std::ptrdiff_t>(max_of(i, j));
    if (i < j)
      std::rotate(from, from + 1, to + 1);
    else
      std::rotate(from, to, to + 1);
  }

  void climb() {
    for (std::vector<int> const& order : usual_orders()) {
      if (found_.evaluations >= budget_.evaluations) return;
      try_order(order);
    }
    std::size_t const m = given_.size(), patience = 2 * m * m;
    std::vector<int> now = found_.order;
    tick time = fits_ ? found_.reached : max_tick;
    for (std::size_t failed = 0; found_.evaluations < budget_.evaluations && !is_at_bound();) {
      std::vector<int> next = now;
      move(next);
      tick const reached = try_order(next);
      failed = reached < time ? 0 : failed + 1;
      if (reached <= time) {
        now = std::move(next);
        time = reached;
      }
      if (failed < patience) continue;
      now = found_.order;
      for (int k = 0; k < 3; ++k) move(now);
      time = try_order(now);
      failed = 0;
    }
  }

  schedule const& s_;
  order_budget budget_;
  memory_limit const* limit_;
  std::uint64_t state_;
  std::vector<int> given_, class_;  // by micro-batch
  std::vector<tick> work_;          // by micro-batch
  int class_count_ = 0;
  bool fits_ = true;
  ordered_micro_batches found_;
};

}  // namespace ashlar::search_detail

namespace ashlar {

ASHLAR_INLINE pass_costs in_order(pass_costs const& given, std::vector<int> const& order) {
  if (given.micro_batches() == 0) return given;
  std::vector<stage_cost> all;
  for (int stage = 0; stage == 0 || stage < given.stages(); ++stage)
    for (int const k : order) all.push_back(given.of(stage, k));
  pass_costs made = pass_costs::by_stage_and_micro_batch(std::move(all), static_cast<int>(order.size()));
  made.overlapped = given.overlapped;
  return made;
}

ASHLAR_INLINE memory_model in_order(memory_model const& given, std::vector<int> const& order) {
  if (given.micro_batches == 0) return given;
  memory_model made = given;
  std::size_t const row = order.size();
  for (std::size_t first = 0; first + row <= made.stages.size(); first += row)
    for (std::size_t k = 0; k < row; ++k)
      made.stages[first + k] = given.stages[first + static_cast<std::size_t>(order[k])];
  return made;
}

ASHLAR_INLINE search_problem in_order(search_problem problem, std::vector<int> const& order) {
  problem.cost.passes = in_order(problem.cost.passes, order);
  problem.limit.memory = in_order(problem.limit.memory, order);
  if (problem.machine) {
    simulation_options machine = *problem.machine;
    machine.cost.passes = in_order(machine.cost.passes, order);
    machine.memory = in_order(machine.memory, order);
    problem.machine = machine;
  }
  return problem;
}

ASHLAR_INLINE ordered_micro_batches order_micro_batches(schedule const& s, order_budget const& budget,
                                                        memory_limit const* limit) {
  must_have_form(s);
  if (s.graph.sequence_chunks() != 1 || s.graph.has_sizes())
    refuse({.broken = rule::tables_agree, .number = s.graph.sequence_chunks()});
  if (int const m = s.cost.passes.micro_batches(); m != 0 && m != s.micro_batch_count())
    refuse(wrong_size(table::micro_batch_costs, m, s.micro_batch_count()));
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (std::size_t i = 0; i < s.order[d].size(); ++i)
      if (s.order[d][i].overlaps >= 0)
        refuse({.broken = rule::overlapped_passes_are_a_pair,
                .first = {.device = static_cast<int>(d),
                          .index = static_cast<int>(i),
                          .what = s.order[d][i].what}});
  if (s.micro_batch_count() == 0) refuse({.broken = rule::counts_are_positive});
  if (limit != nullptr)
    if (diagnosis const d = check(limit->memory, s.stage_count(), s.micro_batch_count()); !d.ok())
      refuse(d);
  return search_detail::place_search(s, budget, limit).run();
}

ASHLAR_INLINE std::vector<int> order_for(search_problem const& problem, order_budget const& budget) {
  constexpr std::size_t tried = 3;
  if (problem.cost.passes.micro_batches() == 0) return {};
  std::vector<schedule> seeds;
  for (schedule& s : seeds_of(problem))
    if (problem.limit.memory.micro_batches != 0 || is_within(s, problem.limit))
      seeds.push_back(std::move(s));
  auto const time_of = [&](schedule const& s) {
    return budget.aim == objective::span ? span(s) : makespan(s);
  };
  std::stable_sort(seeds.begin(), seeds.end(),
                   [&](schedule const& a, schedule const& b) { return time_of(a) < time_of(b); });
  if (seeds.size() > tried) seeds.resize(tried);
  order_budget share = budget;
  share.evaluations /= static_cast<std::int64_t>(tried);
  tick best = seeds.empty() ? 0 : time_of(seeds[0]);
  std::vector<int> order;
  for (schedule const& s : seeds) {
    ordered_micro_batches found = order_micro_batches(s, share, &problem.limit);
    if (found.reached >= best) continue;
    best = found.reached;
    order = std::move(found.order);
  }
  return order;
}

}  // namespace ashlar
