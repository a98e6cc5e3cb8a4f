// The training loop.
#include "command.hpp"
#include "counted.hpp"
#include "files.hpp"
#include "number_option.hpp"
#include "table.hpp"
#include "train_options.hpp"
#include "train_progress.hpp"
#include "train_signals.hpp"
#include "train_timing.hpp"
#include "train_verify.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/render/chrome_trace.hpp>

#include <fmt/core.h>
#include <gpt/batch.hpp>
#include <gpt/corpus.hpp>
#include <gpt/finite.hpp>
#include <gpt/worker.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace tool {

namespace {

constexpr int warm_up_steps = 20;
constexpr int timed_steps = 20;        // whose pass times make the simulation
constexpr int most_stages = 256;       // threads are made for each device
constexpr int most_trainers = 256;     // of all data-parallel ranks
constexpr double averaged_steps = 20;  // the loss that is shown is a running mean over about so many

double rate_at(train_options const& o, int step) {
  double const warm = std::min(1.0, static_cast<double>(step + 1) / warm_up_steps);
  return o.rate * warm * (1.0 - 0.9 * static_cast<double>(step) / o.steps);
}

std::string trace_of(ashlar::program_view const& p, std::vector<ashlar::instruction_time> const& times) {
  std::vector<ashlar::trace_span> spans;
  std::size_t at = 0;
  for (int d = 0; d < p.device_count * p.data_ranks; ++d)  // rank after rank
    for (ashlar::instruction const& i : p.stream(d % p.device_count)) {
      spans.push_back(
          {d, i.lane, to_string(i), times[at].begin, times[at].end,
           i.code == ashlar::opcode::compute ? ashlar::name_of(i.what.kind) : "communication"});
      ++at;
    }
  return ashlar::chrome_trace(spans, p.lane_count);
}

gpt::corpus corpus_of(train_options const& o) {
  try {
    gpt::corpus text = gpt::read_corpus(o.corpus);
    text.require_context(o.model.context);
    return text;
  } catch (std::runtime_error const& e) {
    throw usage_error(fmt::format("--corpus: {}", e.what()));
  }
}

template <class Scalar>
class session {
 public:
  session(train_options const& o, chosen_schedule const& chosen, gpt::config const& shape)
      : o_(o),
        trace_to_(o.trace.empty() ? std::nullopt : std::optional<output>(o.trace)),
        text_(corpus_of(o)),
        shape_(shape),
        schedule_(chosen.schedule),
        program_(lower(schedule_, lowering_of(o.lowering, shape.stages))),
        owned_(make_workers()),
        runtime_(program_, workers_, {.record = true}),
        timing_(shape.stages) {}

  int run() {
    introduce();
    progress bar(o_.steps, isatty(STDOUT_FILENO) != 0);
    auto const start = clock::now();
    int done = 0;
    if (interrupted != 0) fmt::print("interrupted before the first step\n");
    for (; done < o_.steps && interrupted == 0; ++done) {
      set_batches(text_.training(), done);
      auto const begin = clock::now();
      runtime_.run();
      double const step_ms = milliseconds_since(begin);
      mean_step_ms_ =
          done == 0 ? step_ms : mean_step_ms_ + (step_ms - mean_step_ms_) / std::min(done + 1, 50);
      bool const finite = is_finite();
      if (finite) count(loss());
      if (done < timed_steps) timing_.add(runtime_.view(), runtime_.times());
      if (done + 1 == std::min(timed_steps, o_.steps)) simulate();
      if (o_.verify && (done == 0 || (done + 1) % 100 == 0 || done + 1 == o_.steps)
          && !verify(done, bar))
        return invalid;
      if (finite)
        gpt::update(workers_, {.rate = rate_at(o_, done)});
      else if (o_.skip_nonfinite)
        ++skipped_;
      else
        return tell_where(done, bar);
      bar.update(done + 1, mean_loss_, tokens(done + 1) / seconds_since(start), mean_step_ms_,
                 simulated_ms_);
    }
    bar.end();
    std::string const trace = o_.trace.empty() ? "" : trace_of(runtime_.view(), runtime_.times());
    conclude(done, seconds_since(start));
    if (trace_to_) trace_to_->write(trace);
    return interrupted != 0 ? code_of_signal(interrupted) : tool::done;
  }

 private:
  using clock = std::chrono::steady_clock;

  static double seconds_since(clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  }
  static double milliseconds_since(clock::time_point t) { return 1e3 * seconds_since(t); }
  double tokens(int steps) const {
    return static_cast<double>(shape_.tokens()) * shape_.data_ranks * steps;
  }

  // By data-parallel rank.
  std::vector<std::unique_ptr<gpt::worker<Scalar>>> make_workers() {
    std::vector<std::unique_ptr<gpt::worker<Scalar>>> all;
    for (int rank = 0; rank < shape_.data_ranks; ++rank) {
      all.push_back(
          std::make_unique<gpt::worker<Scalar>>(shape_, o_.seed, gpt::site_in(program_, rank)));
      workers_.push_back(all.back().get());
    }
    return all;
  }
  void set_batches(std::span<gpt::token const> text, int step) const {
    std::uint64_t next = static_cast<std::uint64_t>(step) * workers_.size();
    for (auto* w : workers_) w->set_batch(gpt::sample(text, shape_, o_.seed, next++));
  }
  // The mean of the ranks'.
  double loss() const {
    double total = 0;
    for (auto const* w : workers_) total += w->loss();
    return total / static_cast<double>(workers_.size());
  }
  int devices() const { return schedule_.device_count() * shape_.data_ranks; }

  // Nothing can be learned from a step otherwise.
  bool is_finite() const { return std::isfinite(loss()) && std::isfinite(gpt::gradient_norm(workers_)); }

  // The first loss, and a running mean.
  void count(double loss) {
    if (++counted_ == 1) first_loss_ = mean_loss_ = loss;
    mean_loss_ += (loss - mean_loss_) / std::min<double>(counted_, averaged_steps);
  }

  int tell_where(int step, progress const& bar) {
    double const loss = this->loss();
    auto const first = gpt::first_non_finite(program_, workers_);
    bar.end();
    fmt::print("step {}: the loss is {}, {}\n", step + 1,
               std::isnan(loss)   ? "not a number"
               : std::isinf(loss) ? "infinite"
                                  : fmt::format("{:.3f}", loss),
               first ? fmt::format("as stage {} on micro-batch {} makes numbers that are not finite",
                                   first->stage, first->micro_batch)
                     : "and its gradient is not finite");
    return invalid;
  }

  void introduce() const {
    fmt::print(
        "{} on {}, {} of {}: {} instructions, proved complete, ordered, deadlock-free and memory-safe\n",
        o_.shape.name, counted(schedule_.device_count(), "device"),
        counted(schedule_.micro_batch_count(), "micro-batch"), counted(shape_.rows(), "token"),
        program_.instructions.size());
    if (shape_.data_ranks > 1)
      fmt::print("{} side by side, each on its own part of the batch\n",
                 counted(shape_.data_ranks, "pipeline"));
    fmt::print("{} parameters in {} on {}; {} bytes of text\n", workers_[0]->parameters(),
               counted(shape_.blocks, "block"), counted(shape_.stages, "stage"), text_.all().size());
    if (text_.unreadable() > 0)
      fmt::print("files and folders that could not be read and were passed over: {}\n",
                 text_.unreadable());
    std::fflush(stdout);
  }

  // What the schedule takes with the measured pass times when every device has a processor of its own.
  void simulate() {
    ashlar::schedule const timed = retime(schedule_, timing_.costs());
    simulated_ms_ = static_cast<double>(makespan(timed)) * 1e-6;
    if (auto const least = schedule_bound(timed))
      least_ms_ = static_cast<double>(least->makespan) * 1e-6;
    ashlar::tick work = 0;
    for (ashlar::tick busy : busy(timed)) work += busy;
    work_ms_ = static_cast<double>(work) * 1e-6 * shape_.data_ranks;
  }

  bool verify(int step, progress const& bar) {
    std::string const difference = difference_to_sequential(program_, workers_);
    if (difference.empty()) {
      ++verified_;
      return true;
    }
    bar.end();
    fmt::print("step {}: {}\n", step + 1, difference);
    return false;
  }

  void conclude(int steps, double seconds) {
    if (steps == 0) return;
    // The losses of a step whose gradient is never used.
    set_batches(text_.validation(), 0);
    runtime_.run();
    unsigned const cores = std::max(1U, std::thread::hardware_concurrency());
    fmt::print("{}{} in {:.1f} s, {:.0f} tokens/s\n", interrupted != 0 ? "interrupted; " : "",
               counted(steps, "step"), seconds, tokens(steps) / seconds);
    if (simulated_ms_ > 0)
      fmt::print(
          "a step takes {:.1f} ms here; simulated with the measured pass times: {:.1f} ms{} if each of "
          "{} "
          "had a core of its own, at least {:.1f} ms of work on each of {}\n",
          mean_step_ms_, simulated_ms_,
          least_ms_ > 0 ? fmt::format(" (no less than {:.1f}, gap {} %)", least_ms_,
                                      percent(ashlar::gap(simulated_ms_, least_ms_)))
                        : "",
          counted(devices(), "device"), work_ms_ / cores, counted(cores, "core"));
    if (skipped_ > 0)
      fmt::print("skipped, as their numbers were not finite: {}\n", counted(skipped_, "step"));
    if (verified_ > 0)
      fmt::print("verified: losses and gradients of {} bitwise equal to the sequential model's\n",
                 counted(verified_, "step"));
    fmt::print(
        "loss {:.3f} nats a byte at first, {:.3f} at last, {:.3f} on held-out text; unigram entropy of "
        "the text {:.3f}\n",
        first_loss_, mean_loss_, loss(), gpt::unigram_entropy(text_.all()));
  }

  train_options const& o_;
  std::optional<output> trace_to_;
  gpt::corpus text_;
  gpt::config shape_;
  ashlar::schedule schedule_;
  ashlar::program program_;
  std::vector<gpt::worker<Scalar>*> workers_;  // by rank
  std::vector<std::unique_ptr<gpt::worker<Scalar>>> owned_;
  ashlar::host::runtime<gpt::worker<Scalar>> runtime_;
  pass_timing timing_;
  double first_loss_ = 0, mean_loss_ = 0, mean_step_ms_ = 0, simulated_ms_ = 0, least_ms_ = 0,
         work_ms_ = 0;
  int verified_ = 0, skipped_ = 0, counted_ = 0;
};

}  // namespace

template <class Scalar>
int train(train_options const& o) {
  stop_on_signals();
  chosen_schedule const chosen = choose(o.shape);
  gpt::config shape = o.model;
  shape.micro_batches = chosen.schedule.micro_batch_count();
  shape.stages = chosen.schedule.stage_count();
  if (shape.stages > most_stages)
    throw usage_error(
        fmt::format("training runs at most {} stages here, not {}", most_stages, shape.stages));
  must_lie("--data-ranks", o.lowering.data_ranks, 1, most_trainers / chosen.schedule.device_count());
  shape.data_ranks = static_cast<int>(o.lowering.data_ranks);
  shape.tied = o.lowering.tied;
  try {
    require_valid(shape);
  } catch (std::invalid_argument const& e) {
    throw usage_error(e.what());
  }
  return session<Scalar>(o, chosen, shape).run();
}

template int train<float>(train_options const&);
template int train<double>(train_options const&);

}  // namespace tool
