// A small training loop of LibTorch, as many have one. after.cpp is the same as a pipeline.
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

int main() {
  auto parts = make_parts();
  std::vector<torch::Tensor> parameters;
  for (auto& part : parts)
    for (auto& p : part->parameters()) parameters.push_back(p);
  torch::optim::Adam optimizer(parameters, 1e-2);

  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    double sum = 0;
    for (int k = 0; k < micro_batches; ++k) {
      torch::Tensor x = data(k);
      for (auto& part : parts) x = part->forward(x);
      torch::Tensor loss = loss_of(x, k);
      loss.backward();
      sum += loss.item<double>();
    }
    optimizer.step();
    if (step % 10 == 9) std::printf("step %d: loss %.9f\n", step + 1, sum);
  }
}
