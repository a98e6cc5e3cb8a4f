#include "report/search_run.hpp"

#include "options/number_option.hpp"
#include "report/interrupt_watch.hpp"
#include "report/layout_names.hpp"
#include "report/table.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/host/task_threads.hpp>
#include <ashlar/optimize/improve.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace tool {

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point then) {
  return std::chrono::duration<double>(clock::now() - then).count();
}

// Shows the progress of a search and its speed: a line on standard error, if that is a terminal. Watches
// several searches that race, each from a thread of its own.
class observer {
 public:
  // Ends after that time or, where it is 0, is one of that many passes.
  observer(ashlar::layout_choice const& choice, ashlar::bound const& least, ashlar::objective aim,
           double seconds, std::int64_t passes)
      : choice_(choice),
        least_(least),
        aim_(aim),
        seconds_(seconds),
        passes_(passes),
        draws_(isatty(STDERR_FILENO) == 1) {}
  observer(observer const&) = delete;
  observer& operator=(observer const&) = delete;
  ~observer() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
  }

  // Returns false when time is over, or the search is interrupted.
  bool operator()(ashlar::list_scheduler::solution const& best, std::int64_t newly_spent) {
    if (interrupt_watch::has_come()) return false;
    if (seconds_ == 0 && !draws_) return true;
    spent_ += newly_spent;
    double const elapsed = seconds_since(first_);
    if (draws_ && !best.orders.empty()) draw(best, elapsed);
    return seconds_ == 0 || elapsed < seconds_;
  }

  // Passes dispatched a second.
  double speed() const {
    return static_cast<double>(std::max<std::int64_t>(spent_, 1))
           / std::max(seconds_since(first_), 1e-6);
  }

 private:
  void draw(ashlar::list_scheduler::solution const& best, double elapsed) {
    constexpr double pause = 0.1;
    std::lock_guard const alone(drawing_);
    if (elapsed < last_ + pause) return;
    last_ = elapsed;
    bool const spans = aim_ == ashlar::objective::span;
    auto const in_ticks = [&](ashlar::tick t) {
      return readable(static_cast<double>(t) / static_cast<double>(choice_.unit));
    };
    fmt::print(stderr, "\r\x1b[K{}: {} {}, no less than {}", layout_name(choice_),
               spans ? "span" : "makespan", in_ticks(spans ? best.span : best.makespan),
               in_ticks(spans ? least_.span : least_.makespan));
    double const part = std::clamp(
        seconds_ > 0 ? elapsed / seconds_ : static_cast<double>(spent_) / static_cast<double>(passes_),
        1e-6, 1.0);
    fmt::print(stderr, "; {:.0f} %, {:.0f} s left", 100 * part, elapsed / part - elapsed);
    std::fflush(stderr);
    drawn_ = true;
  }

  ashlar::layout_choice const& choice_;
  ashlar::bound least_;
  ashlar::objective aim_;
  double seconds_;
  std::int64_t passes_;
  bool draws_, drawn_ = false;
  clock::time_point first_ = clock::now();
  std::atomic<std::int64_t> spent_ = 0;
  std::mutex drawing_;
  double last_ = 0;
};

ashlar::search_start start_of(ashlar::search_problem const& problem,
                              std::vector<ashlar::schedule> const& starts) {
  ashlar::search_start start(problem);
  for (ashlar::schedule const& s : starts)
    if (ashlar::check_start(problem, s).ok()) start.add(problem, s);
  return start;
}

// Divides the budget of a search in passes. A short search finds out how many there are in the time; if
// that was too few, another one with the next seed takes the rest.
ashlar::search_result timed(ashlar::layout_choice const& choice, ashlar::search_budget e,
                            search_budget const& given, std::vector<ashlar::schedule> const& starts,
                            ashlar::host::task_threads const& threads) {
  constexpr double no_end = 1e15, too_little = 0.1;
  auto const begin = clock::now();
  ashlar::search_start const start = start_of(choice.problem, starts);
  auto const left = [&] { return given.seconds - seconds_since(begin); };
  e.passes = 1'000 * pass_count(choice.problem);
  ashlar::search_result best;
  for (bool is_first = true; is_first || left() > too_little * given.seconds; is_first = false) {
    observer seen(choice, start.least, e.aim, std::max(left(), given.seconds / 100), 0);
    ashlar::search_result found = ashlar::search(choice.problem, start, e, seen, threads);
    found.passes += best.passes;
    found.evaluations += best.evaluations;
    if (is_first || found.reached < best.reached) std::swap(best, found);
    best.passes = std::max(best.passes, found.passes);
    best.evaluations = std::max(best.evaluations, found.evaluations);
    if (best.reached == best.bound_of(e.aim) || interrupt_watch::has_come()) break;
    // The first is too short to be shared by threads.
    double const at_once = is_first ? 0.8 * std::min(given.threads, 4) : 1;
    e.passes = static_cast<std::int64_t>(
        std::clamp(seen.speed() * left() * std::max(at_once, 1.0), 1.0, no_end));
    ++e.seed;
  }
  return best;
}

void must_be_right(ashlar::search_result const& found, ashlar::memory_limit const& limit) {
  if (auto const d = ashlar::check(found.best); !d.ok()) throw ashlar::violation{d};
  if (!ashlar::is_within(found.best, limit)) throw std::logic_error("the limit on memory is passed");
}

ashlar::search_result search_layout(ashlar::layout_choice const& choice, ashlar::objective aim,
                                    search_budget const& budget,
                                    std::vector<ashlar::schedule> const& starts,
                                    ashlar::host::task_threads const& threads) {
  ashlar::search_budget e{.seed = budget.seed, .aim = aim};
  ashlar::search_result found;
  if (budget.seconds > 0) {
    found = timed(choice, e, budget, starts, threads);
  } else {
    e.passes = budget.evaluations * pass_count(choice.problem);
    ashlar::search_start const start = start_of(choice.problem, starts);
    observer seen(choice, start.least, aim, 0, e.passes);
    found = ashlar::search(choice.problem, start, e, seen, threads);
  }
  must_be_right(found, choice.problem.limit);
  return found;
}

}  // namespace

void add_budget_options(CLI::App& command, search_budget& budget) {
  constexpr long long most_evaluations = 1'000'000'000;
  constexpr int most_threads = 4096;
  budget.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  add_number(command, "--budget", budget.evaluations, 1, most_evaluations,
             "schedules to evaluate; the same budget and seed give the same result on every machine");
  add_number(command, "--seed", budget.seed, 0, UINT64_MAX, "seed of the random numbers");
  add_number(command, "--threads", budget.threads, 1, most_threads,
             "threads to search with, by default one per core; the result does not depend on it")
      ->default_str("");
}

std::vector<ashlar::searched_layout> search_layouts(std::vector<ashlar::layout_choice> const& choices,
                                                    ashlar::objective aim, search_budget const& budget,
                                                    std::vector<ashlar::schedule> const& starts) {
  ashlar::host::task_threads const threads(budget.threads);
  auto const search_one = [&](ashlar::layout_choice const& c, double share, int round) {
    search_budget part = budget.part(share);
    part.seed += static_cast<std::uint64_t>(round);
    return search_layout(c, aim, part, starts, threads);
  };
  if (budget.seconds > 0)  // the time of one is not that of another
    return ashlar::search_layouts(choices, aim, search_one);
  return ashlar::search_layouts(choices, aim, search_one, threads);
}

}  // namespace tool
