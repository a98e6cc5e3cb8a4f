// What do Ashlar's passes cost beside a plain loop, which knows neither stages nor slots? One device
// runs four stages, so that nobody waits. Steps of both alternate; the best of each are compared, as
// other programs disturb them.
//   overhead [width] [rounds]: fails above 5 %
#include "transformer.hpp"
#include <ashlar/ashlar.hpp>
#include <ashlar/host/runtime.hpp>

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace {

using namespace libtorch;

template <class Act>
double milliseconds(Act act) {
  auto const begin = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// The loop of a trainer without stages.
void plain_step(staged_model<torch::nn::Sequential> const& model) {
  for (int k = 0; k < model.micro_batches; ++k) {
    at::Tensor x = model.input(k);
    for (torch::nn::Sequential stage : model.stages) x = stage->forward(x);
    model.loss(x, k).backward();
  }
}

// Stage after stage, there and back.
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

}  // namespace

int main(int argc, char** argv) try {
  at::set_num_threads(1);
  transformer_config shape;
  shape.width = argc > 1 ? std::atol(argv[1]) : 256;
  shape.length = 64;
  int const rounds = argc > 2 ? std::atoi(argv[2]) : 12;
  staged_model<torch::nn::Sequential> const model = transformer(shape, at::kFloat);
  std::vector<at::Tensor> const parameters = parameters_of(model.stages);
  std::printf("width %ld, the best of %d rounds\n", static_cast<long>(shape.width), rounds);
  bool within = true;
  for (bool const split : {false, true}) {
    stage_worker<torch::nn::Sequential> worker(model);
    ashlar::host::runtime engine(on_one_device(shape, split), worker);
    double loop = 1e9, ours = 1e9;
    for (int round = 0; round < rounds; ++round) {
      for (at::Tensor p : parameters) p.mutable_grad().reset();
      loop = std::min(loop, milliseconds([&] { plain_step(model); }));
      for (at::Tensor p : parameters) p.mutable_grad().reset();
      ours = std::min(ours, milliseconds([&] { engine.run(); }));
    }
    int const passes = (split ? 3 : 2) * shape.stages * shape.micro_batches;
    double const more = ours / loop - 1;
    std::printf("%s: plain loop %7.2f ms a step, engine %7.2f ms; a pass %5.2f ms, %+.2f %%\n",
                split ? "split" : "fused", loop, ours, ours / passes, 100 * more);
    within = within && more <= 0.05;
  }
  return within ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
