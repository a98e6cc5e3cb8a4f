#include "train/train_report.hpp"

#include "options/byte_options.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/run/measured_time.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace tool {

namespace {

// "6 tokens", or "6 tokens, the last of 2".
std::string words_of_tokens(gpt::config const& shape) {
  std::string words = counted(shape.rows(), "token");
  if (shape.last_sequences > 0)
    words += fmt::format(", the last of {}", shape.last_sequences * shape.context);
  return words;
}

// Says by how much of the second the first differs from it: "3.1 % less".
std::string difference(double value, double from) {
  return fmt::format("{:.1f} % {}", 100 * std::abs(value / from - 1), value < from ? "less" : "more");
}

// The work of all devices, in ticks.
double work_of(ashlar::schedule const& s) {
  ashlar::tick work = 0;
  for (ashlar::tick const one : busy(s)) work += one;
  return static_cast<double>(work);
}

simulated_step simulated(training const& t, ashlar::schedule const& timed_passes,
                         ashlar::simulation_options const& machine, double tick_ms) {
  return {tick_ms * static_cast<double>(ashlar::time_program(t.program, machine).makespan),
          tick_ms * work_of(timed_passes) * t.shape.data_ranks};
}

std::string times_predicted_with(training const& t, train_report const& r) {
  if (auto const& costs = t.options->shape.cost.measured) return "the costs of '" + costs->path + "'";
  if (r.predicted_from == 0) return "the pass times of the steps before";
  return "the pass times of the first " + counted(static_cast<int>(r.predicted_from), "step");
}

// Reports how far off the prediction is, and how far it would be had it known what passes would take.
void report_prediction(training const& t, train_report const& r, double step_ms) {
  fmt::print("predicted with {}: {:.2f} ms{}, {}\n", times_predicted_with(t, r), r.predicted.ms,
             r.least_ms > 0 ? fmt::format(" (no less than {:.2f}, gap {} %)", r.least_ms,
                                          percent(proved_gap(r.predicted.ms, r.least_ms)))
                            : "",
             difference(r.predicted.ms, step_ms));
  bool const same = !t.options->shape.cost.measured && r.predicted_from == r.step_ms.size();
  if (r.measured.ms > 0 && !same)
    fmt::print("simulated with the pass times of {}: {:.2f} ms, {}; the passes took {} than predicted\n",
               r.step_ms.size() == 1 ? "that step" : fmt::format("all {} steps", r.step_ms.size()),
               r.measured.ms, difference(r.measured.ms, step_ms),
               difference(r.measured.work_ms, r.predicted.work_ms));
}

void report_held(held_peaks const& all) {
  auto const words = [](peak_sums const& bytes) {
    return fmt::format("{} on devices and {} on their hosts", text_of_bytes(bytes.on_devices),
                       text_of_bytes(bytes.on_hosts));
  };
  fmt::print(
      "what passes keep and send takes at most {}, by the proof{}\n", words(all.proved),
      all.are_measured ? fmt::format("; {} by the times of the last step", words(all.measured)) : "");
}

}  // namespace

void train_report::predict(training const& t, ashlar::simulation_options const& machine,
                           double tick_ns) {
  double const tick_ms = tick_ns * 1e-6;
  ashlar::schedule const timed_passes = retime(t.schedule, schedule_costs(machine));
  predicted = simulated(t, timed_passes, machine, tick_ms);
  least_ms = 0;
  if (auto const least = schedule_bound(timed_passes))
    least_ms = tick_ms * static_cast<double>(least->makespan);
  predicted_from = step_ms.size();
}

void train_report::simulate_measured(training const& t, ashlar::simulation_options const& machine,
                                     double tick_ns) {
  measured = simulated(t, retime(t.schedule, schedule_costs(machine)), machine, tick_ns * 1e-6);
}

void train_report::adapt() {
  before_ms = ashlar::measured_time_of(step_ms).median;
  step_ms.clear();
}

void report_adaptation(adaptation const& a, int steps, double tick_ns) {
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
      printable(t.options->shape.name), counted(t.schedule.device_count(), "device"),
      counted(t.schedule.micro_batch_count(), "micro-batch"), words_of_tokens(t.shape),
      t.program.instructions.size());
  if (t.program.offloads) {
    auto const leave = std::count_if(t.program.instructions.begin(), t.program.instructions.end(),
                                     [](auto const& i) { return i.code == ashlar::opcode::offload; });
    fmt::print("{} of {} values that forwards keep leave for the host and come back\n", leave,
               t.schedule.stage_count() * t.schedule.micro_batch_count());
  }
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
  if (r.is_predicted() && !r.step_ms.empty()) {
    ashlar::measured_time const steps = ashlar::measured_time_of(r.step_ms);
    fmt::print("a step takes {:.2f} ms, half of them {:.2f} to {:.2f}\n", steps.median, steps.low,
               steps.high);
    report_prediction(t, r, steps.median);
    if (t.devices() > end.computing.count)
      fmt::print(
          "{} share {}, each of which has {:.2f} ms of work; the simulation gives each one of its own\n",
          counted(t.devices(), "device"), counted(end.computing.count, end.computing.name),
          (r.measured.ms > 0 ? r.measured : r.predicted).work_ms / end.computing.count);
    if (r.before_ms > 0)
      fmt::print("with the program before, a step took {:.2f} ms: it takes {} now\n", r.before_ms,
                 difference(steps.median, r.before_ms));
  }
  if (r.held) report_held(*r.held);
  if (r.skipped > 0)
    fmt::print("skipped, as their numbers were not finite: {}\n", counted(r.skipped, "step"));
  if (r.verified > 0)
    fmt::print("verified: losses and gradients of {} {} the sequential model's\n",
               counted(r.verified, "step"),
               end.tolerance > 0 ? fmt::format("within {} of", end.tolerance) : "bitwise equal to");
  if (r.prediction_loss)
    fmt::print("prediction layer: loss {:.3f} nats a byte at last, of the byte after the next one\n",
               *r.prediction_loss);
  fmt::print(
      "loss {:.3f} nats a byte at first, {:.3f} at last, {:.3f} on held-out text; unigram entropy of "
      "the "
      "text {:.3f}\n",
      r.first_loss, r.mean_loss, end.held_out_loss, gpt::unigram_entropy(t.text.all()));
}

}  // namespace tool
