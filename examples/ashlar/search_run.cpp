#include "search_run.hpp"

#include <ashlar/check.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace tool {

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point then) {
  return std::chrono::duration<double>(clock::now() - then).count();
}

// What a search under way has come to: a line on standard error, if that is a terminal, and its speed.
class observer {
 public:
  observer(ashlar::layout_choice const& choice, ashlar::objective aim, double seconds)
      : choice_(choice), aim_(aim), seconds_(seconds), draws_(isatty(STDERR_FILENO) == 1) {}
  observer(observer const&) = delete;
  observer& operator=(observer const&) = delete;
  ~observer() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
  }

  // False when time is over.
  bool operator()(ashlar::dispatcher::timeline const& best, std::int64_t spent) {
    if (seconds_ == 0 && !draws_) return true;
    if (spent_ == 0) first_ = clock::now();
    spent_ = std::max<std::int64_t>(spent, 1);
    elapsed_ = seconds_since(first_);
    if (draws_ && !best.orders.empty()) draw(best);
    return seconds_ == 0 || elapsed_ < seconds_;
  }

  // Seconds since the search itself began, behind its bounds and seeds.
  double elapsed() const { return elapsed_; }
  // Passes dispatched a second.
  double speed() const { return static_cast<double>(spent_) / std::max(elapsed_, 1e-6); }

 private:
  void draw(ashlar::dispatcher::timeline const& best) {
    constexpr double pause = 0.1;
    if (elapsed_ < last_ + pause) return;
    last_ = elapsed_;
    if (!least_) least_ = ashlar::lower_bound(choice_.problem);
    bool const spans = aim_ == ashlar::objective::span;
    auto const in_ticks = [&](ashlar::tick t) {
      return static_cast<double>(t) / static_cast<double>(choice_.unit);
    };
    fmt::print(stderr, "\r\x1b[K{}: {} {:g}, no less than {:g}", layout_name(choice_),
               spans ? "span" : "makespan", in_ticks(spans ? best.span : best.makespan),
               in_ticks(!least_ ? 0
                        : spans ? least_->span
                                : least_->makespan));
    std::fflush(stderr);
    drawn_ = true;
  }

  ashlar::layout_choice const& choice_;
  ashlar::objective aim_;
  double seconds_;
  bool draws_, drawn_ = false;
  std::optional<ashlar::bound> least_;
  clock::time_point first_{};
  double elapsed_ = 0, last_ = 0;
  std::int64_t spent_ = 0;
};

ashlar::search_result observed(ashlar::layout_choice const& choice, ashlar::effort e, observer& seen) {
  return ashlar::search(choice.problem, e,
                        [&seen](auto const& best, std::int64_t spent) { return seen(best, spent); });
}

// A search divides its effort in passes, so a tenth of the time goes into how many there are in it.
// Bounds and seeds, which both searches make, are part of the time; where it is over, the first search
// is all.
ashlar::search_result timed(ashlar::layout_choice const& choice, ashlar::effort e, double seconds) {
  constexpr double no_end = 1e15;
  auto const begin = clock::now();
  e.passes = static_cast<std::int64_t>(no_end);
  observer trial(choice, e.aim, seconds / 10);
  ashlar::search_result first = observed(choice, e, trial);
  double const spent = seconds_since(begin), before = spent - trial.elapsed();
  double const left = seconds - spent - before;
  if (left <= 0) return first;
  e.passes = static_cast<std::int64_t>(std::min(no_end, trial.speed() * left));
  ++e.seed;
  observer rest(choice, e.aim, left);
  ashlar::search_result second = observed(choice, e, rest);
  second.passes += first.passes;
  second.evaluations += first.evaluations;
  if (second.reached <= first.reached) return second;
  first.passes = second.passes;
  first.evaluations = second.evaluations;
  return first;
}

void must_be_right(ashlar::search_result const& found, ashlar::memory_limit const& limit) {
  if (auto const d = ashlar::check(found.best); !d.ok()) throw ashlar::violation{d};
  if (!ashlar::is_within(found.best, limit)) throw std::logic_error("the limit on memory is passed");
}

}  // namespace

void add_budget_options(CLI::App& command, search_budget& budget) {
  constexpr long long most_evaluations = 1'000'000'000;
  command.add_option("--budget", budget.evaluations, "schedules to evaluate; the same on every machine")
      ->check(CLI::Range(1LL, most_evaluations))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--seed", budget.seed, "of the random numbers")
      ->type_name("N")
      ->capture_default_str();
}

searched_layout search_layout(ashlar::layout_choice const& choice, ashlar::objective aim,
                              search_budget const& budget) {
  ashlar::effort e{.seed = budget.seed, .aim = aim};
  searched_layout found{choice, {}, aim};
  if (budget.seconds > 0) {
    found.result = timed(choice, e, budget.seconds);
  } else {
    e.passes = budget.evaluations * 3 * choice.problem.where.stage_count() * choice.problem.m.value;
    observer seen(choice, aim, 0);
    found.result = observed(choice, e, seen);
  }
  must_be_right(found.result, choice.problem.limit);
  return found;
}

std::size_t best_of(std::vector<searched_layout> const& all) {
  auto const shorter = [](searched_layout const& a, searched_layout const& b) {
    return a.in_ticks(a.result.reached) < b.in_ticks(b.result.reached);
  };
  return static_cast<std::size_t>(std::min_element(all.begin(), all.end(), shorter) - all.begin());
}

std::vector<searched_layout> search_layouts(std::vector<ashlar::layout_choice> const& choices,
                                            ashlar::objective aim, search_budget const& budget) {
  std::vector<searched_layout> all;
  if (choices.size() == 1) return {search_layout(choices[0], aim, budget)};
  for (ashlar::layout_choice const& c : choices)
    all.push_back(search_layout(c, aim, budget.part(0.5 / static_cast<double>(choices.size()))));
  searched_layout& best = all[best_of(all)];
  if (best.is_optimal()) return all;
  search_budget rest = budget.part(0.5);
  ++rest.seed;
  searched_layout again = search_layout(best.choice, aim, rest);
  std::int64_t const evaluations = best.result.evaluations + again.result.evaluations;
  if (again.result.reached < best.result.reached) best = std::move(again);
  best.result.evaluations = evaluations;
  return all;
}

}  // namespace tool
