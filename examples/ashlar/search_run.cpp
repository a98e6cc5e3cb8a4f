#include "search_run.hpp"

#include "number_option.hpp"
#include <ashlar/check/check.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
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
  observer(ashlar::layout_choice const& choice, ashlar::bound const& least, ashlar::objective aim,
           double seconds)
      : choice_(choice),
        least_(least),
        aim_(aim),
        seconds_(seconds),
        draws_(isatty(STDERR_FILENO) == 1) {}
  observer(observer const&) = delete;
  observer& operator=(observer const&) = delete;
  ~observer() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
  }

  // False when time is over.
  bool operator()(ashlar::list_scheduler::timeline const& best, std::int64_t spent) {
    if (seconds_ == 0 && !draws_) return true;
    if (spent_ == 0) first_ = clock::now();
    spent_ = std::max<std::int64_t>(spent, 1);
    elapsed_ = seconds_since(first_);
    if (draws_ && !best.orders.empty()) draw(best);
    return seconds_ == 0 || elapsed_ < seconds_;
  }

  // Passes dispatched a second.
  double speed() const { return static_cast<double>(spent_) / std::max(elapsed_, 1e-6); }

 private:
  void draw(ashlar::list_scheduler::timeline const& best) {
    constexpr double pause = 0.1;
    if (elapsed_ < last_ + pause) return;
    last_ = elapsed_;
    bool const spans = aim_ == ashlar::objective::span;
    auto const in_ticks = [&](ashlar::tick t) {
      return static_cast<double>(t) / static_cast<double>(choice_.unit);
    };
    fmt::print(stderr, "\r\x1b[K{}: {} {:g}, no less than {:g}", layout_name(choice_),
               spans ? "span" : "makespan", in_ticks(spans ? best.span : best.makespan),
               in_ticks(spans ? least_.span : least_.makespan));
    std::fflush(stderr);
    drawn_ = true;
  }

  ashlar::layout_choice const& choice_;
  ashlar::bound least_;
  ashlar::objective aim_;
  double seconds_;
  bool draws_, drawn_ = false;
  clock::time_point first_{};
  double elapsed_ = 0, last_ = 0;
  std::int64_t spent_ = 0;
};

ashlar::search_result observed(ashlar::layout_choice const& choice, ashlar::search_start const& start,
                               ashlar::search_budget e, observer& seen) {
  return ashlar::search(choice.problem, start, e,
                        [&seen](auto const& best, std::int64_t spent) { return seen(best, spent); });
}

ashlar::search_start start_of(ashlar::search_problem const& problem,
                              std::vector<ashlar::schedule> const& starts) {
  ashlar::search_start start(problem);
  for (ashlar::schedule const& s : starts)
    if (ashlar::check_start(problem, s).ok()) start.add(problem, s);
  return start;
}

// A search divides its budget in passes, so a tenth of the time goes into how many there are in it.
ashlar::search_result timed(ashlar::layout_choice const& choice, ashlar::search_budget e, double seconds,
                            std::vector<ashlar::schedule> const& starts) {
  constexpr double no_end = 1e15;
  auto const begin = clock::now();
  ashlar::search_start const start = start_of(choice.problem, starts);
  auto const left_of = [&](double share) {
    return std::max(seconds - seconds_since(begin), seconds / 100) * share;
  };
  e.passes = static_cast<std::int64_t>(no_end);
  observer trial(choice, start.least, e.aim, left_of(0.1));
  ashlar::search_result first = observed(choice, start, e, trial);
  double const left = left_of(1);
  e.passes = static_cast<std::int64_t>(std::min(no_end, trial.speed() * left));
  ++e.seed;
  observer rest(choice, start.least, e.aim, left);
  ashlar::search_result second = observed(choice, start, e, rest);
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
  add_number(command, "--budget", budget.evaluations, 1, most_evaluations,
             "schedules to evaluate; the same on every machine");
  add_number(command, "--seed", budget.seed, 0, UINT64_MAX, "of the random numbers");
}

ashlar::search_result search_layout(ashlar::layout_choice const& choice, ashlar::objective aim,
                                    search_budget const& budget,
                                    std::vector<ashlar::schedule> const& starts) {
  ashlar::search_budget e{.seed = budget.seed, .aim = aim};
  ashlar::search_result found;
  if (budget.seconds > 0) {
    found = timed(choice, e, budget.seconds, starts);
  } else {
    ashlar::search_problem const& problem = choice.problem;
    e.passes = budget.evaluations * problem.m.value * problem.sequence_chunks
               * (3 * problem.where.stage_count()
                  + static_cast<std::int64_t>(ashlar::recomputed_stages(problem).size()));
    ashlar::search_start const start = start_of(problem, starts);
    observer seen(choice, start.least, aim, 0);
    found = observed(choice, start, e, seen);
  }
  must_be_right(found, choice.problem.limit);
  return found;
}

std::vector<ashlar::searched_layout> search_layouts(std::vector<ashlar::layout_choice> const& choices,
                                                    ashlar::objective aim, search_budget const& budget,
                                                    std::vector<ashlar::schedule> const& starts) {
  return ashlar::search_layouts(choices, aim,
                                [&](ashlar::layout_choice const& c, double share, int round) {
                                  search_budget part = budget.part(share);
                                  part.seed += static_cast<std::uint64_t>(round);
                                  return search_layout(c, aim, part, starts);
                                });
}

}  // namespace tool
