// The training loop, the same for every backend.
#pragma once

#include "command.hpp"
#include "files/adaptation.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
#include "train/train_agreement.hpp"
#include "train/train_checkpoint.hpp"
#include "train/train_held.hpp"
#include "train/train_numbers.hpp"
#include "train/train_progress.hpp"
#include "train/train_reference.hpp"
#include "train/train_report.hpp"
#include "train/train_signals.hpp"
#include "train/train_team.hpp"
#include "train/train_timing.hpp"
#include "train/train_values.hpp"
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/simulate/options.hpp>

#include <fmt/core.h>
#include <gpt/adam.hpp>
#include <gpt/loss_scaling.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tool {

std::string trace_of(ashlar::program_view const& p, std::vector<ashlar::instruction_time> const& times);

template <class Scalar>
class train_session {
 public:
  train_session(training& t, team<Scalar>& all)
      : t_(t),
        o_(*t.options),
        all_(all),
        reference_(t, all),
        checkpoints_(t, all),
        timing_(t.shape.stages) {
    if (o_.loss_scale > 0) {
      loss_scale_.scale = o_.loss_scale;
      set_loss_scale();
    }
    if (t.loads_to) loads_.emplace(t.shape, o_.steps);
  }

  // All processes return the same exit_code.
  int run() {
    must_be_alike(agreed_options(t_), all_);
    std::optional<checkpoint> const resumed = checkpoints_.claim();
    must_be_alike(resumed ? fmt::format("--resume step {}", resumed->step) : "--resume nothing", all_);
    introduce(t_, all_.workers().front()->parameters());
    if (resumed) resume(*resumed);
    if (done_ < o_.steps)
      checkpoints_.must_have_room(o_.steps / o_.save_every + (o_.steps % o_.save_every != 0 ? 1 : 0)
                                  - done_ / o_.save_every);
    int const first = done_;
    progress bar(o_.steps, isatty(STDOUT_FILENO) != 0);
    auto const start = clock::now();
    signal_ = numbers_of(all_, t_).signal;
    if (signal_ != 0) fmt::print("interrupted before the first step\n");
    is_stepping = 1;
    while (done_ < o_.steps && signal_ == 0) {
      std::uint64_t const batch = batches_;
      bool const looked_at =
          o_.verify && (done_ == first || (done_ + 1) % 100 == 0 || done_ + 1 == o_.steps);
      if (looked_at) {
        all_.fetch();
        reference_.take_weights();
      }
      step_numbers const numbers = step(t_.text.training(), batch, {optimizer(), looked_at});
      batches_ += static_cast<std::uint64_t>(t_.shape.data_ranks);
      signal_ = numbers.signal;
      if (numbers.is_finite()) report_.count_loss(numbers.loss);
      add_step(timing_, all_, t_.program.view());
      if (done_ + 1 - first == std::min(first_steps, o_.steps - first) && !report_.is_predicted())
        predict(machine());
      if (looked_at && !verify(batch, numbers, bar)) return invalid;
      double const scale = scale_of(numbers);
      if (loads_) count_loads();
      if (scale > 0)
        update(scale);
      else if (o_.skip_nonfinite || (o_.loss_scale > 0 && std::isfinite(numbers.loss)))
        ++report_.skipped;
      else
        return report_where(batch, numbers.loss, bar);
      ++done_;
      bar.update(done_, report_.mean_loss, t_.tokens(done_ - first) / seconds_since(start),
                 report_.mean_step_ms, report_.predicted.ms);
      if (o_.adapt > 0 && done_ - first == o_.adapt) adapt(bar);
      if (!o_.save.empty() && (done_ % o_.save_every == 0 || done_ == o_.steps || signal_ != 0))
        save(bar);
    }
    bar.end();
    return finish(done_ - first, seconds_since(start));
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr int warm_up_steps = 20;
  static constexpr int first_steps = 20;  // whose pass times are what the others are predicted with

  static double seconds_since(clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  }
  double rate_at(int step) const {
    double const warm = std::min(1.0, static_cast<double>(step + 1) / warm_up_steps);
    return o_.rate * warm * (1.0 - 0.9 * static_cast<double>(step) / o_.steps);
  }

  gpt::adam_options optimizer() const { return {.rate = rate_at(done_), .clip = o_.clip_norm}; }

  void resume(checkpoint const& c) {
    checkpoints_.load(c);
    all_.deliver();
    done_ = c.step;
    updates_ = c.updates;
    batches_ = c.batches;
    report_.skipped = c.step - c.updates;
    report_.counted_losses = c.counted_losses;
    report_.first_loss = c.first_loss;
    report_.mean_loss = c.mean_loss;
    fmt::print("resumed after {} from {}\n", counted(done_, "step"), printable(c.folder));
    std::fflush(stdout);
  }
  void save(progress& bar) {
    all_.fetch();
    std::string const folder = checkpoints_.save({.folder = {},
                                                  .identity = t_.identity,
                                                  .step = done_,
                                                  .updates = updates_,
                                                  .batches = batches_,
                                                  .counted_losses = report_.counted_losses,
                                                  .first_loss = report_.first_loss,
                                                  .mean_loss = report_.mean_loss,
                                                  .parts = {}});
    bar.end();
    fmt::print("saved {}\n", printable(folder));
    std::fflush(stdout);
  }

  // Makes a step of all ranks on a batch each, from number `batch` on.
  step_numbers step(std::span<gpt::token const> text, std::uint64_t batch, step_plan const& plan) {
    for (int rank = 0; rank < t_.shape.data_ranks; ++rank)
      if (all_.of(rank) != nullptr)
        all_.set_batch(rank, batch_at(t_, text, batch + static_cast<std::uint64_t>(rank)));
    auto const begin = clock::now();
    all_.run(plan);
    report_.count_time(1e3 * seconds_since(begin));
    return numbers_of(all_, t_);
  }
  void update(double scale) {
    ++updates_;
    all_.update(optimizer(), scale);
  }
  // The factor for the step's gradient; 0: the step is passed over. The next step's loss may have
  // another scale.
  double scale_of(step_numbers const& numbers) {
    if (o_.loss_scale == 0) return numbers.is_finite() ? optimizer().scale_for(numbers.norm) : 0;
    double const scale = loss_scale_.step(
        std::isfinite(numbers.loss) ? numbers.norm * numbers.norm : numbers.loss, {}, optimizer());
    set_loss_scale();
    return scale;
  }
  void set_loss_scale() {
    all_.set_loss_scale(loss_scale_.scale);
    reference_.set_loss_scale(loss_scale_.scale);
  }
  void count_loads() {
    std::vector<double> loads = all_.expert_loads();
    all_.unite(loads);
    loads_->add(loads);
  }
  std::vector<ashlar::instruction_time> reported_times() {
    std::vector<ashlar::instruction_time> times = all_.times();
    if (!times.empty()) all_.unite(times);
    return times;
  }

  // The costs to predict with: --costs, or what passes took so far. Nothing where neither is known. All
  // processes call these.
  std::optional<ashlar::simulation_options> machine() {
    if (auto const& given = o_.shape.cost.measured) return machine_of(given->cost);
    return machine_so_far();
  }
  // The times of passes so far; links and sums by --costs.
  std::optional<ashlar::simulation_options> machine_so_far() {
    ashlar::pass_times const own = times_of_all(timing_, all_);
    if (!own.any()) return std::nullopt;
    auto const& given = o_.shape.cost.measured;
    ashlar::execution_costs cost{.passes = own.costs(tick_ns())};
    if (given) cost.on = given->cost.on;
    return machine_of(std::move(cost));
  }
  ashlar::simulation_options machine_of(ashlar::execution_costs cost) const {
    ashlar::simulation_options m{.cost = std::move(cost)};
    using kind = ashlar::slot_kind;
    auto const bytes = [this](kind of, int group, int micro_batch) {
      return static_cast<ashlar::byte_count>(all_.layout({of, group, micro_batch}).bytes);
    };
    m.memory.stages.clear();
    if (t_.shape.last_sequences > 0) m.memory.micro_batches = t_.shape.micro_batches;
    for (int g = 0; g < t_.shape.groups(); ++g) {
      bool const shared = g >= t_.shape.stages;
      for (int k = 0; k < (shared ? 1 : m.memory.period()); ++k) {
        auto& stage = (shared ? m.memory.shared : m.memory.stages).emplace_back();
        stage.weights = stage.weight_gradient = bytes(kind::weight, g, k);
        if (shared) continue;
        stage.activation = bytes(kind::activation, g, k);
        // The gradient of its output, from a stage after it.
        if (auto const after = t_.schedule.graph.successors(g); !after.empty())
          stage.gradient = bytes(kind::gradient, after[0], k);
      }
    }
    return m;
  }
  double tick_ns() const {
    return o_.shape.cost.measured ? o_.shape.cost.measured->scale.tick_ns() : 1.0;
  }
  void predict(std::optional<ashlar::simulation_options> const& with) {
    if (with) report_.predict(t_, *with, tick_ns());
  }
  // Takes another program from the next step on, if one is found that takes less. All processes find the
  // same.
  void adapt(progress& bar) {
    std::optional<ashlar::simulation_options> const with = machine();
    if (!with) return;
    adaptation found;
    all_.work(
        [&] { found = adapted(t_, *with, [this](ashlar::value_key key) { return all_.layout(key); }); });
    bar.end();
    report_adaptation(found, o_.adapt, tick_ns());
    if (!found.program) return;
    t_.schedule = std::move(*found.schedule);
    t_.program = std::move(*found.program);
    all_.adopt();
    reference_.adopt();
    report_.adapt();
    timing_ = ashlar::pass_timing(t_.shape.stages);
    predict(with);
  }

  // Compares the step on the batches from number `batch` on.
  bool verify(std::uint64_t batch, step_numbers const& numbers, progress& bar) {
    std::string const difference = reference_.difference(numbers, batch);
    if (difference.empty()) {
      ++report_.verified;
      return true;
    }
    bar.end();
    fmt::print("step {}: {}\n", done_ + 1, difference);
    return false;
  }

  int report_where(std::uint64_t batch, double loss, progress& bar) {
    all_.fetch();
    bool const changed = t_.program.step == ashlar::optimizer_step::at_end;
    auto const first = changed ? std::nullopt : reference_.first_non_finite(batch);
    bar.end();
    fmt::print("step {}: the loss is {}, {}\n", done_ + 1,
               std::isnan(loss)   ? "not a number"
               : std::isinf(loss) ? "infinite"
                                  : fmt::format("{:.3f}", loss),
               first     ? fmt::format("as stage {} on micro-batch {} makes numbers that are not finite",
                                       first->stage, first->micro_batch)
               : changed ? "and by now the weights have numbers that are not finite"
                         : "and its gradient is not finite");
    return invalid;
  }

  // The loss of the last step, over all ranks.
  double prediction_loss() {
    std::vector<double> all = all_.prediction_losses();
    all_.unite(all);
    double sum = 0;
    for (int rank = 0; rank < t_.shape.data_ranks; ++rank)
      sum += mean_loss(t_.shape,
                       std::span(all).subspan(static_cast<std::size_t>(rank * t_.shape.micro_batches),
                                              static_cast<std::size_t>(t_.shape.micro_batches)));
    return sum / t_.shape.data_ranks;
  }

  int finish(int steps, double seconds) {
    std::string const trace = o_.trace.empty() ? "" : trace_of(t_.program.view(), reported_times());
    if (steps > 0) {
      std::optional<ashlar::simulation_options> const measured = machine_so_far();
      if (!report_.is_predicted()) predict(machine());
      if (measured) report_.simulate_measured(t_, *measured, tick_ns());
      if (t_.program.offloads)
        report_.held = peaks_of(
            t_, [this](ashlar::value_key key) { return all_.layout(key); }, reported_times());
      if (t_.shape.predicts) report_.prediction_loss = prediction_loss();
      train_report const sofar = report_;
      // The losses of a step whose gradient is never used.
      double const held_out = step(t_.text.validation(), 0, {{.rate = 0}, false}).loss;
      conclude(t_, sofar, {signal_ != 0, steps, seconds, held_out, all_.computing(), all_.tolerance()});
    }
    if (t_.trace_to && all_.leads()) t_.trace_to->write(trace);
    if (loads_ && all_.leads())
      t_.loads_to->write(loads_->svg(o_.shape.name + ", " + o_.balance + " balance"));
    return signal_ != 0 ? code_of_signal(signal_) : tool::done;
  }

  training& t_;
  train_options const& o_;
  team<Scalar>& all_;
  train_reference<Scalar> reference_;
  train_checkpoints<Scalar> checkpoints_;
  ashlar::pass_timing timing_;
  train_report report_;
  gpt::loss_scale loss_scale_;
  std::optional<expert_loads> loads_;
  int signal_ = 0;
  int done_ = 0, updates_ = 0;  // steps, and of them those that changed the weights
  std::uint64_t batches_ = 0;   // drawn by all ranks
};

}  // namespace tool
