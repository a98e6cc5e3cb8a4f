#include "train_report.hpp"

#include "counted.hpp"
#include "spread.hpp"
#include "table.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <string>

namespace tool {

namespace {

double median_of(std::vector<double> const& values) { return spread_of(values).median; }

// By how much of the second the first differs from it: "3.1 % less".
std::string difference(double value, double from) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(value / from - 1), value < from ? "less" : "more");
}

// Of all devices, in ticks.
double work_of(ashlar::schedule const& s) {
  ashlar::tick work = 0;
  for (ashlar::tick const one : busy(s)) work += one;
  return static_cast<double>(work);
}

// Where the machine was faster or slower when passes were measured than when steps were.
void tell_drift(training const& t, train_report const& r) {
  auto const& costs = t.options->shape.cost.measured;
  std::string const first = counted(static_cast<int>(r.timed), "step");
  if (costs && r.slower > 0)
    fmt::print("the passes of the first {} took {} than '{}' says\n", first, difference(r.slower, 1),
               costs->path);
  if (costs || r.timed == 0 || r.timed >= r.step_ms.size()) return;
  auto const end = r.step_ms.begin() + static_cast<std::ptrdiff_t>(r.timed);
  double const then = median_of({r.step_ms.begin(), end});
  fmt::print("the first {}, whose passes were timed, took {:.2f} ms: simulated, {}\n", first, then,
             difference(r.simulated_ms, then));
}

}  // namespace

void train_report::simulate(training const& t, ashlar::simulation_options const& machine,
                            double tick_ns) {
  double const tick_ms = tick_ns * 1e-6;
  simulated_ms = tick_ms * static_cast<double>(ashlar::time_program(t.program, machine).makespan);
  ashlar::schedule const timed_passes = retime(t.schedule, machine.cost);
  least_ms = 0;
  if (auto const least = schedule_bound(timed_passes))
    least_ms = tick_ms * static_cast<double>(least->makespan);
  work_ms = tick_ms * work_of(timed_passes) * t.shape.data_ranks;
  timed = step_ms.size();
}

void train_report::compare_passes(training const& t, ashlar::costs const& own) {
  slower = 1e-6 * work_of(retime(t.schedule, own)) * t.shape.data_ranks / work_ms;
}

void train_report::adapt() {
  before_ms = median_of(step_ms);
  step_ms.clear();
}

void tell_adaptation(adaptation const& a, int steps, double tick_ns) {
  auto const ms = [&](ashlar::tick t) { return 1e-6 * tick_ns * static_cast<double>(t); };
  if (a.program)
    fmt::print(
        "after {}: another program, proved, with the same sums in the same memory: {:.3f} ms simulated "
        "instead of {:.3f}, {}\n",
        counted(steps, "step"), ms(a.after), ms(a.before),
        difference(static_cast<double>(a.after), static_cast<double>(a.before)));
  else
    fmt::print("after {}: the program stays, {:.3f} ms simulated: {}\n", counted(steps, "step"),
               ms(a.before), a.why);
  std::fflush(stdout);
}

void introduce(training const& t, std::size_t parameters) {
  fmt::print(
      "{} on {}, {} of {}: {} instructions, proved complete, ordered, deadlock-free and memory-safe\n",
      t.options->shape.name, counted(t.schedule.device_count(), "device"),
      counted(t.schedule.micro_batch_count(), "micro-batch"), counted(t.shape.rows(), "token"),
      t.program.instructions.size());
  if (t.shape.data_ranks > 1)
    fmt::print("{} side by side, each on its own part of the batch\n",
               counted(t.shape.data_ranks, "pipeline"));
  fmt::print("{} parameters in {} on {}; {} bytes of text\n", parameters,
             counted(t.shape.blocks, "block"), counted(t.shape.stages, "stage"), t.text.all().size());
  if (t.text.unreadable() > 0)
    fmt::print("files and folders that could not be read and were passed over: {}\n",
               t.text.unreadable());
  std::fflush(stdout);
}

void conclude(training const& t, train_report const& r, train_end const& end) {
  fmt::print("{}{} in {:.1f} s, {:.0f} tokens/s\n", end.early ? "interrupted; " : "",
             counted(end.steps, "step"), end.seconds, t.tokens(end.steps) / end.seconds);
  if (r.simulated_ms > 0) {
    spread const steps = spread_of(r.step_ms);
    double const step_ms = steps.median;
    auto const& costs = t.options->shape.cost.measured;
    fmt::print(
        "a step takes {:.2f} ms, half of them {:.2f} to {:.2f}; simulated with {}: {:.2f} ms{}, {}\n",
        step_ms, steps.low, steps.high,
        costs ? "the costs of '" + costs->path + "'" : "the pass times of the first steps",
        r.simulated_ms,
        r.least_ms > 0 ? fmt::format(" (no less than {:.2f}, gap {} %)", r.least_ms,
                                     percent(ashlar::gap(r.simulated_ms, r.least_ms)))
                       : "",
        difference(r.simulated_ms, step_ms));
    tell_drift(t, r);
    if (t.devices() > end.computing.count)
      fmt::print(
          "{} share {}, each of which has {:.2f} ms of work; the simulation gives each one of its own\n",
          counted(t.devices(), "device"), counted(end.computing.count, end.computing.name),
          r.work_ms / end.computing.count);
    if (r.before_ms > 0)
      fmt::print("with the program before, a step took {:.2f} ms: it takes {} now\n", r.before_ms,
                 difference(step_ms, r.before_ms));
  }
  if (r.skipped > 0)
    fmt::print("skipped, as their numbers were not finite: {}\n", counted(r.skipped, "step"));
  if (r.verified > 0)
    fmt::print("verified: losses and gradients of {} {} the sequential model's\n",
               counted(r.verified, "step"),
               end.tolerance > 0 ? fmt::format("within {} of", end.tolerance) : "bitwise equal to");
  fmt::print(
      "loss {:.3f} nats a byte at first, {:.3f} at last, {:.3f} on held-out text; unigram entropy of "
      "the "
      "text {:.3f}\n",
      r.first_loss, r.mean_loss, end.held_out_loss, gpt::unigram_entropy(t.text.all()));
}

}  // namespace tool
