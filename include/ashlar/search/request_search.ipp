// Definitions of request_search.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/splitmix.hpp>
#include <ashlar/schedule/tables.hpp>
#include <ashlar/search/active_schedules.hpp>
#include <ashlar/search/request_search.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ashlar::request_search_detail {

// A pass is number stage * m + micro-batch.
inline std::vector<active_schedules::job> jobs_of(request_problem const& problem) {
  std::vector<active_schedules::job> jobs;
  std::vector<int> const first = first_chunks(problem.asked);
  int const m = first.back();
  for (int s = 0; s < problem.where.stage_count(); ++s) {
    int const device = problem.where.device_of(0, s);
    for (std::size_t r = 0; r < problem.asked.size(); ++r)
      for (int k = first[r]; k < first[r + 1]; ++k) {
        active_schedules::job own{device, problem.cost.of({pass_kind::forward, s, k}, device),
                                  problem.asked[r].arrival};
        if (s > 0)
          own.needs[0] = {(s - 1) * m + k,
                          problem.cost.transfer(problem.where.device_of(0, s - 1), device)};
        if (k > first[r]) own.needs[1] = {s * m + k - 1, 0};
        jobs.push_back(own);
      }
  }
  return jobs;
}

// The value of an objective, then the sum of the latencies.
struct request_value {
  tick first = max_tick, then = max_tick;

  friend constexpr bool operator==(request_value const&, request_value const&) = default;
  friend constexpr auto operator<=>(request_value const&, request_value const&) = default;
};

class engine {
 public:
  engine(request_problem const& problem, request_budget const& budget)
      : problem_(problem),
        budget_(budget),
        active_(jobs_of(problem), problem.where.device_count()),
        first_(first_chunks(problem.asked)),
        state_(budget.seed) {
    for (std::size_t r = 0; r < problem.asked.size(); ++r)
      for (int k = first_[r]; k < first_[r + 1]; ++k) request_of_.push_back(static_cast<int>(r));
    for (auto const& j : active_.jobs()) work_ = saturating_sum(work_, j.length);
    ends_.resize(problem.asked.size());
  }

  // Tries the usual orders of requests with later stages first, stage after stage, and between.
  void start() {
    for (bool const waits : {false, true})
      for (order const how : {order::arrival, order::shortest, order::longest})
        for (int const spread : {0, 1, 2, 4})
          if (evaluations_ == 0 || !is_over()) evaluate(priorities(how, spread), waits);
  }

  void improve(tick goal) {
    goal_ = goal;
    constexpr int rounds = 4;
    std::int64_t const begun = evaluations_;
    for (int round = 0; round < rounds; ++round) {
      std::vector<tick> now = best_;
      request_value value = least_;
      std::int64_t const from = evaluations_,
                         until = begun + (budget_.evaluations - begun) * (round + 1) / rounds;
      while (evaluations_ < until && !is_over()) {
        std::vector<tick> next = now;
        change(next);
        request_value const reached = evaluate(next);
        // Up to 4 % worse at first, nothing worse at the end.
        tick const worse = static_cast<tick>(
            static_cast<double>(value.first) * 0.04 * static_cast<double>(until - evaluations_)
            / static_cast<double>(until - from) * static_cast<double>(below(1000)) / 1000);
        if (reached <= value || reached.first < value.first + worse) {
          value = reached;
          now = start_;
        }
      }
    }
  }

  std::vector<tick> const& best() const { return best_; }
  tick reached() const { return least_.first; }
  std::int64_t evaluations() const { return evaluations_; }

 private:
  enum class order { arrival, shortest, longest };

  int m() const { return first_.back(); }
  int request_of(int x) const { return nth(request_of_, x % m()); }

  bool is_over() const { return evaluations_ >= budget_.evaluations || least_.first <= goal_; }

  std::uint64_t below(std::uint64_t n) {
    state_ += splitmix_step;
    return mixed(state_) % n;
  }
  tick within(tick reach) {
    return static_cast<tick>(below(static_cast<std::uint64_t>(2 * reach + 1))) - reach;
  }

  // Requests one behind the other, of each of which a stage comes `spread` times the mean pass after the
  // one before.
  std::vector<tick> priorities(order how, int spread) const {
    std::vector<tick> work(problem_.asked.size(), 0);
    auto const& jobs = active_.jobs();
    for (std::size_t x = 0; x < jobs.size(); ++x)
      nth(work, request_of(static_cast<int>(x))) += jobs[x].length;
    std::vector<std::size_t> line(work.size());
    for (std::size_t i = 0; i < line.size(); ++i) line[i] = i;
    std::stable_sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) {
      if (how == order::shortest) return work[a] < work[b];
      if (how == order::longest) return work[a] > work[b];
      return problem_.asked[a].arrival < problem_.asked[b].arrival;
    });
    tick const mean = max_of<tick>(work_ / static_cast<tick>(jobs.size()), 1);
    std::vector<tick> begin(line.size(), 0), all(jobs.size(), 0);
    tick at = 0;
    for (std::size_t const r : line) {
      begin[r] = at;
      at += work[r] / problem_.where.device_count();
    }
    for (std::size_t x = 0; x < all.size(); ++x) {
      int const k = static_cast<int>(x) % m(), stage = static_cast<int>(x) / m(),
                r = request_of(static_cast<int>(x));
      all[x] = nth(begin, r) + (k - nth(first_, r)) * mean + spread * stage * mean;
      if (spread == 0) all[x] = saturating_product(nth(begin, r), problem_.where.stage_count()) - stage;
    }
    return all;
  }

  // Moves the priorities of a pass, of a request, of its later stages, of a stage's passes from a time
  // on, of all in a short time; lets two requests change places; or puts a request, or its later chunks,
  // right before or behind a chunk of any other on every stage.
  void change(std::vector<tick>& priority) {
    auto const n = static_cast<std::uint64_t>(priority.size());
    tick const span = max_of<tick>(least_.first == max_tick ? 1 : last_end_, 1);
    tick const reach = max_of<tick>(saturating_product(span, static_cast<tick>(1 + below(30))) / 100, 2);
    int const some = static_cast<int>(below(n)), request = request_of(some), stage = some / m();
    tick const from = nth(priority, some), far = within(reach);
    int const other = request_of(static_cast<int>(below(n)));
    tick const apart = nth(priority, nth(first_, other)) - nth(priority, nth(first_, request));
    switch (below(8)) {
      case 0:
        nth(priority, some) += far;
        return;
      case 1:
        return move(priority, [&](int x) { return request_of(x) == request ? far : 0; });
      case 2:
        return move(priority,
                    [&](int x) { return request_of(x) == request && x / m() >= stage ? far : 0; });
      case 3:
        return move(priority,
                    [&](int x) { return x / m() == stage && nth(priority, x) >= from ? far : 0; });
      case 4:
        return move(priority, [&](int x) {
          tick const at = nth(priority, x);
          return at >= from && at < from + reach ? within(reach / 2 + 1) : 0;
        });
      case 5:
        return move(priority, [&](int x) {
          int const own = request_of(x);
          return own == request ? apart : own == other ? -apart : 0;
        });
      default:
        return insert(priority, request, some % m(), static_cast<int>(below(n)) % m());
    }
  }
  void insert(std::vector<tick>& priority, int request, int from, int beside) {
    tick const side = below(2) == 0 ? 1 : -1;
    if (below(2) == 0) from = nth(first_, request);
    for (int x = 0; x < static_cast<int>(priority.size()); ++x)
      if (request_of(x) == request && x % m() >= from)
        nth(priority, x) = nth(priority, x - x % m() + beside) + side;
  }
  template <class Far>
  static void move(std::vector<tick>& priority, Far far) {
    for (std::size_t x = 0; x < priority.size(); ++x) priority[x] += far(static_cast<int>(x));
  }

  request_value evaluate(std::vector<tick> const& priority, bool waits = true) {
    ++evaluations_;
    active_.run(priority, waits, start_);
    int const last = (problem_.where.stage_count() - 1) * m();
    for (std::size_t r = 0; r < ends_.size(); ++r) {
      int const x = last + first_[r + 1] - 1;
      ends_[r] = nth(start_, x) + nth(active_.jobs(), x).length;
    }
    request_value const reached{value_of(budget_.aim, problem_.asked, ends_),
                                value_of(request_objective::mean, problem_.asked, ends_)};
    if (reached < least_) {
      least_ = reached;
      best_ = start_;
      last_end_ = value_of(request_objective::makespan, problem_.asked, ends_);
    }
    return reached;
  }

  request_problem const& problem_;
  request_budget budget_;
  active_schedules active_;
  std::vector<int> first_, request_of_;  // micro-batch of a request, and the other way round
  std::uint64_t state_;
  tick work_ = 0, last_end_ = 0, goal_ = 0;
  std::int64_t evaluations_ = 0;
  request_value least_;
  std::vector<tick> start_, best_, ends_;
};

inline schedule schedule_of(request_problem const& problem, std::vector<tick> const& start) {
  int const m = micro_batch_count(problem.asked);
  schedule s = schedule_without_passes(problem.where, std::vector<int>(static_cast<std::size_t>(m), 0),
                                       problem.cost);
  s.mode = execution_mode::inference;
  for (std::size_t x = 0; x < start.size(); ++x) {
    int const stage = static_cast<int>(x) / m, k = static_cast<int>(x) % m;
    nth(s.order, problem.where.device_of(0, stage))
        .push_back({{pass_kind::forward, stage, k}, start[x]});
  }
  for (int d = 0; d < s.device_count(); ++d)
    std::stable_sort(nth(s.order, d).begin(), nth(s.order, d).end(),
                     [&](time_slot const& a, time_slot const& b) {
                       tick const end_a = s.end_of(a, d), end_b = s.end_of(b, d);
                       return a.start != b.start ? a.start < b.start : end_a < end_b;
                     });
  return s;
}

}  // namespace ashlar::request_search_detail

namespace ashlar {

ASHLAR_INLINE std::vector<tick> request_ends(schedule const& s, request_list const& asked) {
  must_have_form(s);
  if (int const m = micro_batch_count(asked); s.micro_batch_count() != m)
    refuse(wrong_size(table::micro_batches_of_schedule, s.micro_batch_count(), m));
  std::vector<int> const first = first_chunks(asked);
  std::vector<int> request_of;
  for (std::size_t r = 0; r < asked.size(); ++r)
    for (int k = first[r]; k < first[r + 1]; ++k) request_of.push_back(static_cast<int>(r));
  std::vector<tick> ends(asked.size(), 0);
  for (int d = 0; d < s.device_count(); ++d)
    for (time_slot const& t : nth(s.order, d))
      if (t.what.kind == pass_kind::forward && t.what.stage + 1 == s.stage_count()) {
        tick& own = nth(ends, nth(request_of, t.what.micro_batch));
        own = max_of(own, s.end_of(t, d));
      }
  return ends;
}

ASHLAR_INLINE request_schedule search_requests(request_problem const& problem, request_budget budget) {
  request_schedule found{.best = {}, .least = request_bound(problem.where, problem.asked, problem.cost)};
  request_search_detail::engine engine(problem, budget);
  engine.start();
  engine.improve(found.least.of(budget.aim));
  found.best = request_search_detail::schedule_of(problem, engine.best());
  found.reached = engine.reached();
  found.evaluations = engine.evaluations();
  return found;
}

}  // namespace ashlar
