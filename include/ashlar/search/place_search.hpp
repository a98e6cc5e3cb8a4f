// A search for the micro-batch of each place of a schedule.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/in_order.hpp>
#include <ashlar/search/least_of_orders.hpp>
#include <ashlar/search/ordered_micro_batches.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar::search_detail {

// Tries all orders of few micro-batches, and otherwise climbs.
class place_search {
 public:
  // `limit` is null if any memory is allowed. The schedule must be one that check() passes.
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

  // Runs at most as many evaluations as the budget says, each of O(passes).
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

  // The number of orders that differ; max_tick for more.
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

  // The time of an order, max_tick if it does not fit. Keeps the best.
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

  // Goes in lexicographic order of classes; of the members of a class, the first takes the first place.
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
    // Takes turns among all routes: so each has its share, and neighbours in size stand side by side.
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

  // Swaps two micro-batches of different classes, or moves one of them to the other's place.
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
    auto const m = static_cast<std::int64_t>(given_.size()), patience = 2 * m * m;
    std::int64_t better = found_.evaluations;  // of these, the one that found a shorter order last
    std::vector<int> now = found_.order;
    tick time = fits_ ? found_.reached : max_tick;
    while (found_.evaluations < budget_.evaluations && !is_at_bound()) {
      std::vector<int> next = now;
      move(next);
      tick const reached = try_order(next);
      if (reached < time) better = found_.evaluations;
      if (reached <= time) {
        now = std::move(next);
        time = reached;
      }
      if (found_.evaluations - better < patience) continue;
      now = found_.order;
      for (int k = 0; k < 3; ++k) move(now);
      time = try_order(now);
      better = found_.evaluations;
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
