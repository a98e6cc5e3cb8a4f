#include "kfac/measure.hpp"

#include "gpt/batch.hpp"
#include "gpt/corpus.hpp"
#include "kfac/optimizer.hpp"
#include "kfac/work.hpp"
#include "kfac/worker.hpp"
#include <ashlar/core/pass.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/program/instruction.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace kfac {

namespace {

using namespace ashlar;
using model = worker<float>;
using runtime = host::runtime<model>;

constexpr int updates = 200;
constexpr std::array marks{20, 50, 100, 150, 200};
constexpr std::uint64_t seeds = 3;

struct contestant {
  char const* name;
  optimizer_options options;
  double damping = 0;  // of K-FAC
};

// Each has the best of the settings that were tried for it (docs/fill.md says which).
contestant const contestants[] = {
    {"SGD", {.layers = method::sgd, .others = method::sgd, .rate = 0.6, .adam = {.clip = 0.3}}},
    {"Adam", {.layers = method::adam, .rate = 4e-3, .adam = {.rate = 8e-2, .clip = 0.1}}},
    {"SGD for layers, Adam for the rest",
     {.layers = method::sgd, .rate = 4, .adam = {.rate = 0.16, .clip = 0.1}}},
    {"K-FAC for layers, Adam for the rest", {.adam = {.rate = 8e-2, .clip = 0.3}}, 1e-5},
};

// All rates rise for ten updates, and fall to zero after the last one.
double schedule_at(int update) {
  return std::min(1.0, (update + 1) / 10.0) * (1 - static_cast<double>(update) / updates);
}

// The mean loss of eight batches.
double loss_on(std::span<gpt::token const> text, runtime& plain, model& w) {
  constexpr std::uint64_t count = 8;
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    w.set_batch(gpt::sample(text, w.shape(), 99, i));
    plain.run();
    sum += w.loss();
  }
  return sum / count;
}

using curve = std::array<double, marks.size()>;

curve train(contestant const& c, gpt::config const& shape, program const& plain, program const& filled,
            gpt::corpus const& text, std::uint64_t seed) {
  model w(shape, seed, {.damping = c.damping});
  runtime training(c.options.layers == method::kfac ? filled : plain, w), reading(plain, w);
  curve losses{};
  for (int i = 0; i < updates; ++i) {
    w.set_batch(gpt::sample(text.training(), shape, seed, static_cast<std::uint64_t>(i)));
    training.run();
    optimizer_options now = c.options;
    now.schedule = schedule_at(i);
    update(w, now);
    if (auto const mark = std::ranges::find(marks, i + 1); mark != marks.end())
      losses[static_cast<std::size_t>(mark - marks.begin())] = loss_on(text.validation(), reading, w);
  }
  return losses;
}

void compare_losses(gpt::config const& shape, program const& plain, program const& filled,
                    gpt::corpus const& text) {
  std::printf("%-36s", "loss on held-out text after");
  for (int mark : marks) std::printf(" %6d", mark);
  std::printf("  updates\n");
  for (contestant const& c : contestants) {
    curve mean{};
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      curve const one = train(c, shape, plain, filled, text, seed);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += one[i] / seeds;
    }
    std::printf("%-36s", c.name);
    for (double loss : mean) std::printf(" %6.3f", loss);
    std::printf("\n");
  }
}

// The time of a run, and the share of compute in the time of all devices.
struct occupation {
  double milliseconds = 0;
  double busy = 0;
};

occupation last_run(runtime const& r, int devices) {
  std::int64_t busy = 0, end = 0;
  for (std::size_t i = 0; i < r.times().size(); ++i) {
    end = std::max(end, r.times()[i].end);
    if (r.view().instructions[i].code == opcode::compute) busy += r.times()[i].end - r.times()[i].begin;
  }
  return {static_cast<double>(end) / 1e6,
          static_cast<double>(busy) / (static_cast<double>(end) * devices)};
}

// A tick is a microsecond.
struct durations {
  stage_cost passes;
  work_ticks parts;
};

// Medians over the passes of a kind, and over the parts of a task, in a few runs of the program.
durations durations_of(gpt::config const& shape, program const& p, gpt::corpus const& text) {
  constexpr int runs = 20;
  model w(shape, 1);
  w.set_batch(gpt::sample(text.training(), shape, 1, 0));
  runtime r(p, w, host::run_options{.record = true});
  std::array<std::vector<std::int64_t>, 2 + tasks> all;
  for (int i = 0; i < runs; ++i) {
    r.run();
    for (std::size_t k = 0; k < r.times().size(); ++k) {
      instruction const& what = r.view().instructions[k];
      if (what.code != opcode::compute) continue;
      std::size_t const kind = is_part(what.what)
                                   ? 2 + static_cast<std::size_t>(task_of(part_of(what.what).job))
                                   : what.what.kind != pass_kind::forward;
      all[kind].push_back(r.times()[k].end - r.times()[k].begin);
    }
  }
  auto const median = [&](std::size_t kind) {
    std::ranges::sort(all[kind]);
    return std::max<tick>(1, static_cast<tick>(all[kind][all[kind].size() / 2] / 1000));
  };
  tick const backward = std::max<tick>(2, median(1));
  return {{median(0), backward / 2, backward - backward / 2}, {median(2), median(3), median(4)}};
}

// Fits work with its measured length into as many steps as it needs, and compares the median runs. Other
// load on the machine disturbs all programs alike: they take turns.
void compare_times(gpt::config shape, schedule const& guessed, filling const& first,
                   gpt::corpus const& text) {
  constexpr int runs = 61;
  durations const took = durations_of(shape, lower(first.filled), text);
  schedule const step = guessed | retime(costs(took.passes));
  work_graph const work = work_for(step, shape, took.parts);
  filling const filled = fill_steps(step, work);
  int const count = *std::ranges::max_element(filled.steps);
  shape.micro_batches = filled.filled.micro_batch_count();
  std::printf("microseconds: forward %d, backward %d, work %d and %d a micro-batch, %d an inversion\n",
              static_cast<int>(took.passes.forward),
              static_cast<int>(took.passes.backward_input + took.passes.backward_weight),
              static_cast<int>(took.parts.add_inputs), static_cast<int>(took.parts.add_gradients),
              static_cast<int>(took.parts.invert));
  std::printf("an update is %d steps of %d micro-batches\n", count, step.micro_batch_count());
  std::pair<char const*, program> const programs[] = {
      {"without the work", lower(repeated(step, count))},
      {"work in the bubbles", lower(filled.filled)},
      {"work after the pipeline", lower(work_at_end(step, work, count))}};
  model w(shape, 1);
  w.set_batch(gpt::sample(text.training(), shape, 1, 0));
  std::vector<std::unique_ptr<runtime>> each;
  for (auto const& [name, p] : programs)
    each.push_back(std::make_unique<runtime>(p, w, host::run_options{.record = true}));
  std::vector<std::vector<occupation>> all(each.size());
  for (int i = 0; i < runs; ++i)
    for (std::size_t k = 0; k < each.size(); ++k) {
      each[k]->run();
      all[k].push_back(last_run(*each[k], programs[k].second.device_count()));
    }
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::ranges::sort(all[k], {}, &occupation::milliseconds);
    occupation const& middle = all[k][runs / 2];
    std::printf("%-36s %6.1f ms, devices busy for %.0f %%\n", programs[k].first, middle.milliseconds,
                100 * middle.busy);
  }
}

}  // namespace

void measure(gpt::config const& shape, schedule const& step, filling const& filled,
             std::filesystem::path const& text) {
  gpt::corpus const corpus = gpt::read_corpus(text);
  compare_times(shape, step, filled, corpus);
  int const count = *std::ranges::max_element(filled.steps);
  compare_losses(shape, lower(repeated(step, count)), lower(filled.filled), corpus);
}

}  // namespace kfac
