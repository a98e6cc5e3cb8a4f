// A small training loop of LibTorch, as many have one, as a pipeline of four devices: before.cpp and a
// schedule. It prints the same losses.
#include "stage_worker.hpp"
#include <ashlar/ashlar.hpp>
#include <ashlar/host/runtime.hpp>

#include <torch/torch.h>

#include <cstdio>
#include <vector>

constexpr int micro_batches = 8, rows = 16, width = 32, steps = 50;

// Four parts of a network; what one gives, the next one takes.
std::vector<torch::nn::Sequential> make_parts() {
  torch::manual_seed(1);
  std::vector<torch::nn::Sequential> parts;
  for (int i = 0; i < 4; ++i)
    parts.emplace_back(torch::nn::Linear(width, width), torch::nn::Tanh(),
                       torch::nn::Linear(width, width));
  return parts;
}
torch::Tensor data(int k) {
  return torch::sin(torch::arange(rows * width).view({rows, width}) * (0.1 * (k + 1)));
}
torch::Tensor loss_of(torch::Tensor y, int k) { return torch::mse_loss(y, data(k).roll(1, 1)); }

// Proved while this is compiled.
constexpr auto schedule = [] {
  return ashlar::catalog::zb_h1(ashlar::devices{4})
         | ashlar::repeat(ashlar::micro_batches{micro_batches}) | ashlar::squeeze() | ashlar::lower();
};
static_assert(ashlar::valid<schedule>());

int main() {
  torch::set_num_threads(1);  // each device is a thread
  auto parts = make_parts();
  std::vector<torch::Tensor> parameters;
  for (auto& part : parts)
    for (auto& p : part->parameters()) parameters.push_back(p);
  torch::optim::Adam optimizer(parameters, 1e-2);

  libtorch::stage_worker<torch::nn::Sequential> worker({.stages = parts,
                                                        .between = {3, {rows, width}},
                                                        .micro_batches = micro_batches,
                                                        .input = data,
                                                        .loss = loss_of});
  ashlar::host::runtime pipeline(schedule(), worker);
  for (int step = 0; step < steps; ++step) {
    pipeline.run();
    optimizer.step();
    if (step % 10 == 9) std::printf("step %d: loss %.9f\n", step + 1, worker.loss());
  }
}
