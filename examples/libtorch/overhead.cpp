// Measures the cost of Ashlar's passes beside loops that know neither programs nor slots. One device
// runs four stages, so that nobody waits.
// overhead [width] [rounds]: fails above 5 %
// A loop with autograd over the whole model, one that splits each stage's backward, and the engine with
// either take turns. Compared are the medians of what one takes more than the other in the same round.
#include "kept_graph.hpp"
#include "transformer.hpp"
#include <ashlar/ashlar.hpp>
#include <ashlar/host/runtime.hpp>

#include <ATen/Parallel.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace libtorch;
using model_of_stages = staged_model<torch::nn::Sequential>;

// The loops leave gradients where they are and clear them first, as a program does.
class loops {
 public:
  explicit loops(model_of_stages const& model) : model_(model) {
    for (torch::nn::Sequential const& stage : model_.stages) {
      lists_.push_back(std::make_unique<parameter_list>(stage->parameters()));
      for (at::Tensor const& p : stage->parameters()) p.mutable_grad() = at::zeros_like(p).detach();
    }
  }

  // The loop of a trainer without stages.
  void plain_step() const {
    clear();
    for (int k = 0; k < model_.micro_batches; ++k) {
      at::Tensor x = model_.input(k);
      for (torch::nn::Sequential stage : model_.stages) x = stage->forward(x);
      model_.loss(x, k).backward();
    }
  }

  // Runs an input and a weight pass for each stage instead.
  void split_step() const {
    clear();
    std::size_t const count = model_.stages.size();
    std::vector<kept_graph> kept(count);
    for (int k = 0; k < model_.micro_batches; ++k) {
      at::Tensor x = model_.input(k);
      for (std::size_t s = 0; s < count; ++s) {
        at::Tensor const in = s == 0 ? x : x.detach().requires_grad_();
        x = torch::nn::Sequential(model_.stages[s])->forward(in);
        if (s + 1 == count) x = model_.loss(x, k);
        kept[s] = kept_graph(s == 0 ? at::Tensor() : in, x, *lists_[s]);
      }
      at::Tensor gradient = at::ones({});
      for (std::size_t s = count; s-- > 0;) {
        gradient = kept[s].backward_input(gradient);
        gradient_sums sums;
        for (at::Tensor const& p : lists_[s]->all()) sums.push_back(p.grad());
        kept[s].backward_weight(sums);
      }
    }
  }

 private:
  void clear() const {
    for (auto const& list : lists_)
      for (at::Tensor const& p : list->all()) p.grad().zero_();
  }

  model_of_stages model_;
  std::vector<std::unique_ptr<parameter_list>> lists_;
};

// A program that runs stage after stage, there and back.
ashlar::program on_one_device(transformer_config const& shape, bool split) {
  using namespace ashlar;
  int const last = shape.stages - 1;
  block const b = make_block(looped(devices{1}, chunks{shape.stages}), costs{}, 3 * shape.stages,
                             {pass_kind::forward, pass_kind::backward}, [=](pass_kind kind, int s) {
                               return kind == pass_kind::forward ? s : last + 1 + 2 * (last - s);
                             });
  return (split ? split_backward(b) : b) | repeat(micro_batches{shape.micro_batches}) | squeeze()
         | lower();
}

// The value below which `share` of the numbers lies.
double quantile(std::vector<double> all, double share) {
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
}

struct candidate {
  char const* name;
  std::function<void()> step;
  std::vector<double> milliseconds = {};
};

// Takes a pause after each step: a system stops for a while whoever runs before all others and never
// rests.
void take_turns(std::vector<candidate>& all, int rounds) {
  using clock = std::chrono::steady_clock;
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < all.size(); ++i) {
      candidate& c = all[(static_cast<std::size_t>(round) + i) % all.size()];
      auto const begin = clock::now();
      c.step();
      auto const took = clock::now() - begin;
      if (round > 0)  // the first is a warm-up
        c.milliseconds.push_back(std::chrono::duration<double, std::milli>(took).count());
      std::this_thread::sleep_for(took / 10);
    }
}

// Prints and returns the median of how many percent longer `a` takes than `b`.
double compare(candidate const& a, candidate const& b) {
  std::vector<double> more;
  for (std::size_t i = 0; i < a.milliseconds.size(); ++i)
    more.push_back(100 * (a.milliseconds[i] / b.milliseconds[i] - 1));
  double const median = quantile(more, 0.5);
  std::printf("%-13s over %-12s %+5.1f %%, half of the rounds from %+.1f to %+.1f\n", a.name, b.name,
              median, quantile(more, 0.25), quantile(more, 0.75));
  return median;
}

}  // namespace

int main(int argc, char** argv) try {
  at::set_num_threads(1);
  // Memory stays with the process. Otherwise malloc gives it back after one pass, and the next pays for
  // fresh pages: one more, another less, as it happens to lie.
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 25);
  transformer_config shape;
  shape.width = argc > 1 ? std::atol(argv[1]) : 256;
  shape.length = 64;
  shape.micro_batches = 2;
  int const rounds = argc > 2 ? std::atoi(argv[2]) : 25;
  // Each model has the same weights.
  std::array<model_of_stages, 3> const models{
      transformer(shape, at::kFloat), transformer(shape, at::kFloat), transformer(shape, at::kFloat)};
  loops const without(models[0]);
  stage_worker<torch::nn::Sequential> fused_worker(models[1]), split_worker(models[2]);
  ashlar::host::runtime fused(on_one_device(shape, false), fused_worker);
  ashlar::host::runtime split(on_one_device(shape, true), split_worker);
  std::vector<candidate> all{{"loop", [&] { without.plain_step(); }},
                             {"split loop", [&] { without.split_step(); }},
                             {"engine", [&] { fused.run(); }},
                             {"split engine", [&] { split.run(); }}};
  take_turns(all, rounds);
  std::printf("width %ld, %d rounds\n", static_cast<long>(shape.width), rounds);
  int const stages = shape.stages * shape.micro_batches;
  for (candidate const& c : all) {
    double const median = quantile(c.milliseconds, 0.5);
    std::printf("%-13s %7.2f ms a step, %5.2f ms a pass\n", c.name, median,
                median / ((c.name[0] == 's' ? 3 : 2) * stages));
  }
  compare(all[1], all[0]);
  double const whole = compare(all[2], all[0]), halves = compare(all[3], all[1]);
  return whole <= 5 && halves <= 5 ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
