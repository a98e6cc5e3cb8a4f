// A small transformer over bytes, of modules of LibTorch, and text to train it on.
#pragma once

#include "stage_worker.hpp"

#include <torch/nn/module.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>
#include <torch/utils.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace libtorch {

struct transformer_config {
  std::int64_t width = 32, heads = 4, length = 16, sequences = 2;  // sequences of a micro-batch
  int stages = 4, blocks_of_a_stage = 1, micro_batches = 8;
};

constexpr std::int64_t bytes_known = 256;

class TokensImpl : public torch::nn::Module {
 public:
  explicit TokensImpl(transformer_config const& c)
      : bytes_(register_module("bytes", torch::nn::Embedding(bytes_known, c.width))),
        places_(register_module("places", torch::nn::Embedding(c.length, c.width))) {}
  at::Tensor forward(at::Tensor const& tokens) {
    return bytes_->forward(tokens) + places_->forward(at::arange(tokens.size(1), tokens.options()));
  }

 private:
  torch::nn::Embedding bytes_, places_;
};
TORCH_MODULE(Tokens);

class BlockImpl : public torch::nn::Module {
 public:
  explicit BlockImpl(transformer_config const& c)
      : heads_(c.heads),
        norm_(register_module("norm", layer_norm(c))),
        all_(register_module("qkv", torch::nn::Linear(c.width, 3 * c.width))),
        out_(register_module("out", torch::nn::Linear(c.width, c.width))),
        norm_again_(register_module("norm_again", layer_norm(c))),
        up_(register_module("up", torch::nn::Linear(c.width, 4 * c.width))),
        down_(register_module("down", torch::nn::Linear(4 * c.width, c.width))) {}
  at::Tensor forward(at::Tensor x) {
    std::int64_t const sequences = x.size(0), length = x.size(1), width = x.size(2);
    at::Tensor const qkv = all_->forward(norm_->forward(x))
                               .view({sequences, length, 3, heads_, width / heads_})
                               .permute({2, 0, 3, 1, 4});
    at::Tensor const seen =
        at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0, /*is_causal=*/true);
    x = x + out_->forward(seen.transpose(1, 2).reshape({sequences, length, width}));
    return x + down_->forward(at::gelu(up_->forward(norm_again_->forward(x))));
  }

 private:
  static torch::nn::LayerNorm layer_norm(transformer_config const& c) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions({c.width}));
  }

  std::int64_t heads_;
  torch::nn::LayerNorm norm_;
  torch::nn::Linear all_, out_;
  torch::nn::LayerNorm norm_again_;
  torch::nn::Linear up_, down_;
};
TORCH_MODULE(Block);

// Stages with equal weights in every process and for every schedule. Changes the default type of
// tensors.
inline std::vector<torch::nn::Sequential> transformer_stages(transformer_config const& c,
                                                             at::ScalarType kind) {
  torch::manual_seed(1);
  torch::set_default_dtype(c10::scalarTypeToTypeMeta(kind));
  std::vector<torch::nn::Sequential> stages;
  for (int s = 0; s < c.stages; ++s) {
    torch::nn::Sequential stage;
    if (s == 0) stage->push_back(Tokens(c));
    for (int i = 0; i < c.blocks_of_a_stage; ++i) stage->push_back(Block(c));
    if (s + 1 == c.stages) {
      stage->push_back(torch::nn::LayerNorm(torch::nn::LayerNormOptions({c.width})));
      stage->push_back(torch::nn::Linear(c.width, bytes_known));
    }
    stages.push_back(std::move(stage));
  }
  return stages;
}

// Tokens of a micro-batch and what follows each of them.
inline std::pair<at::Tensor, at::Tensor> text_of(transformer_config const& c, int micro_batch) {
  static constexpr std::string_view text =
      "A schedule says which device computes what, and when. Describe what happens to one micro-batch, "
      "repeat it, squeeze out the idle time, and compose. ";
  at::Tensor const all = at::empty({c.sequences, c.length + 1}, at::kLong);
  auto at = all.accessor<std::int64_t, 2>();
  for (std::int64_t s = 0; s < c.sequences; ++s)
    for (std::int64_t i = 0; i <= c.length; ++i)
      at[s][i] = text[static_cast<std::size_t>(17 * (micro_batch * c.sequences + s) + i) % text.size()];
  return {all.narrow(1, 0, c.length).contiguous(), all.narrow(1, 1, c.length).contiguous()};
}

// A model for stage_worker. The loss is a mean over all micro-batches.
inline staged_model<torch::nn::Sequential> transformer(transformer_config const& c,
                                                       at::ScalarType kind) {
  staged_model<torch::nn::Sequential> model{.stages = transformer_stages(c, kind),
                                            .between = {},
                                            .micro_batches = c.micro_batches,
                                            .input = [c](int k) { return text_of(c, k).first; },
                                            .loss = {}};
  model.between.assign(static_cast<std::size_t>(c.stages - 1), {c.sequences, c.length, c.width});
  model.loss = [c](at::Tensor const& y, int k) {
    return at::cross_entropy_loss(y.flatten(0, 1), text_of(c, k).second.flatten()) / c.micro_batches;
  };
  return model;
}

// The parameters of the stages that this process has.
template <class Module>
std::vector<at::Tensor> parameters_of(std::vector<Module> const& stages) {
  std::vector<at::Tensor> all;
  for (Module const& stage : stages)
    if (!stage.is_empty())
      for (at::Tensor const& p : stage->parameters()) all.push_back(p);
  return all;
}

}  // namespace libtorch
