#include "train_report.hpp"

#include "counted.hpp"
#include "table.hpp"
#include <ashlar/bounds/lower_bound.hpp>

#include <fmt/core.h>

#include <cstdio>

namespace tool {

void train_report::simulate(training const& t, pass_timing& timing) {
  if (!timing.any()) return;
  ashlar::schedule const timed_passes = retime(t.schedule, timing.costs());
  simulated_ms = static_cast<double>(makespan(timed_passes)) * 1e-6;
  if (auto const least = schedule_bound(timed_passes))
    least_ms = static_cast<double>(least->makespan) * 1e-6;
  ashlar::tick work = 0;
  for (ashlar::tick const one : busy(timed_passes)) work += one;
  work_ms = static_cast<double>(work) * 1e-6 * t.shape.data_ranks;
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
  if (r.simulated_ms > 0)
    fmt::print(
        "a step takes {:.1f} ms here; simulated with the measured pass times: {:.1f} ms{} if each of {} "
        "had a {} of its own, at least {:.1f} ms of work on each of {}\n",
        r.mean_step_ms, r.simulated_ms,
        r.least_ms > 0 ? fmt::format(" (no less than {:.1f}, gap {} %)", r.least_ms,
                                     percent(ashlar::gap(r.simulated_ms, r.least_ms)))
                       : "",
        counted(t.devices(), "device"), end.computing.name, r.work_ms / end.computing.count,
        counted(end.computing.count, end.computing.name));
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
