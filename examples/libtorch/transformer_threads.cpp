// Trains the transformer on threads under each schedule, beside the same modules without a pipeline:
//   transformer_threads [double|float]
// Losses, gradients and weights of doubles must have the same bits in every step.
#include "plain_training.hpp"
#include "schedules.hpp"
#include "transformer.hpp"
#include <ashlar/host/runtime.hpp>

#include <ATen/Parallel.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

namespace {

using namespace libtorch;

// The largest difference, as a share of the largest number.
double difference(std::vector<at::Tensor> const& a, std::vector<at::Tensor> const& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const size = b[i].abs().max().item<double>();
    most = std::max(most, (a[i] - b[i]).abs().max().item<double>() / std::max(size, 1e-30));
  }
  return most;
}
std::vector<at::Tensor> gradients_of(std::vector<at::Tensor> const& parameters) {
  std::vector<at::Tensor> all;
  for (at::Tensor const& p : parameters) all.push_back(p.grad());
  return all;
}
std::vector<at::Tensor> detached(std::vector<at::Tensor> all) {
  for (at::Tensor& one : all) one = one.detach();
  return all;
}

// Returns the largest difference.
double train(named_program const& of, transformer_config const& shape, at::ScalarType kind) {
  staged_model<torch::nn::Sequential> const plain = transformer(shape, kind);
  staged_model<torch::nn::Sequential> const piped = transformer(shape, kind);
  stage_worker<torch::nn::Sequential> worker(piped);
  ashlar::host::runtime engine(of.program, worker);
  std::vector<at::Tensor> const theirs = parameters_of(plain.stages), ours = parameters_of(piped.stages);
  torch::optim::Adam their_steps(theirs, torch::optim::AdamOptions(3e-3)),
      our_steps(ours, torch::optim::AdamOptions(3e-3));
  double first = 0, most = 0;
  for (int step = 0; step < 4; ++step) {
    std::vector<at::Tensor> const their_losses = plain_step(plain, of.program.view());
    engine.run();
    std::vector<at::Tensor> our_losses;
    for (int k = 0; k < shape.micro_batches; ++k) our_losses.push_back(worker.loss(k));
    if (step == 0) first = worker.loss();
    their_steps.step(), our_steps.step();
    most = std::max({most, difference(our_losses, their_losses),
                     difference(gradients_of(ours), gradients_of(theirs)),
                     difference(detached(ours), detached(theirs))});
  }
  std::printf("%-15s %7d   %7.4f %7.4f   %s", of.name.c_str(), of.program.device_count(), first,
              worker.loss(), most == 0 ? "the same bits\n" : "");
  if (most > 0) std::printf("differ by %.1e\n", most);
  return most;
}

}  // namespace

int main(int argc, char** argv) try {
  at::set_num_threads(1);  // each device is a thread
  bool const is_double = argc < 2 || argv[1] == std::string_view("double");
  transformer_config const shape;
  double most = 0;
  std::puts("schedule        devices    loss: first, last   beside the plain loop");
  for (named_program const& p : programs_for(shape.stages, shape.micro_batches))
    most = std::max(most, train(p, shape, is_double ? at::kDouble : at::kFloat));
  return most > (is_double ? 0 : 1e-5) ? 1 : 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
