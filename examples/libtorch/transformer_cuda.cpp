// Trains the transformer on GPUs, all devices in this process:
//   transformer_cuda
// The slots lie in the engine's memory on the GPU; operators go to the streams of its queues.
#include "cuda_queue_scope.hpp"
#include "schedules.hpp"
#include "transformer.hpp"
#include <ashlar/cuda.hpp>

#include <torch/optim/adam.h>

#include <cstdio>
#include <exception>
#include <vector>

namespace {

using namespace libtorch;

// The model on the first GPU, which all devices share.
staged_model<torch::nn::Sequential> on_gpu(transformer_config const& shape) {
  staged_model<torch::nn::Sequential> model = transformer(shape, at::kFloat);
  at::Device const gpu(at::kCUDA, 0);
  for (torch::nn::Sequential& stage : model.stages) stage->to(gpu);
  model.input = [gpu, from = model.input](int k) { return from(k).to(gpu, /*non_blocking=*/true); };
  model.loss = [shape, gpu](at::Tensor const& y, int k) {
    at::Tensor const target = text_of(shape, k).second.flatten().to(gpu, /*non_blocking=*/true);
    return at::cross_entropy_loss(y.flatten(0, 1), target) / shape.micro_batches;
  };
  return model;
}

void train(named_program const& of, transformer_config const& shape) {
  staged_model<torch::nn::Sequential> const model = on_gpu(shape);
  stage_worker<torch::nn::Sequential> worker(model);
  // LibTorch allocates while it works, so that a step is issued, not replayed.
  ashlar::cuda::runtime engine(of.program, worker,
                               {.mode = ashlar::cuda::issue_mode::eager, .gpus = {0}});
  torch::optim::Adam steps(parameters_of(model.stages), torch::optim::AdamOptions(3e-3));
  for (int step = 0; step < 4; ++step) {
    engine.run();
    steps.step();
    c10::cuda::getCurrentCUDAStream().synchronize();  // the next step reads the weights on other streams
    std::printf("%-15s step %d: loss %.4f\n", of.name.c_str(), step, worker.loss());
  }
}

}  // namespace

int main() try {
  transformer_config const shape;
  for (named_program const& p : programs_for(shape.stages, shape.micro_batches)) train(p, shape);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
