// The passes of the shards of the embedding and the head, and the common parts of all passes of a step.
#pragma once

#include "batch.hpp"
#include "config.hpp"
#include "head_shard.hpp"
#include "model_parameters.hpp"
#include "stage.hpp"
#include "tensor.hpp"
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpt {

template <class Scalar>
class shard_worker : public model_parameters<Scalar> {
 public:
  shard_worker(config const& of, std::uint64_t seed, worker_site site)
      : model_parameters<Scalar>(of, seed, std::move(site)),
        losses_(static_cast<std::size_t>(of.micro_batches), 0.0) {}

  // Sets the tokens of the next step. Throws std::invalid_argument unless there are as many as the shape
  // says.
  void set_batch(gpt::batch tokens) {
    auto const expected = static_cast<std::size_t>(this->shape().tokens());
    if (tokens.inputs.size() != expected || tokens.targets.size() != expected) {
      throw std::invalid_argument("a batch of this model has " + std::to_string(expected)
                                  + " tokens, not " + std::to_string(tokens.inputs.size()));
    }
    batch_ = std::move(tokens);
  }

  // The loss of every micro-batch after a step, mean over its tokens, in nats.
  std::span<double const> losses() const { return losses_; }
  // Their mean over all tokens.
  double loss() const { return mean_loss(this->shape(), losses_); }

  // Multiplies the loss, and so its gradients. Call it on all workers.
  void set_loss_scale(double scale) { loss_scale_ = static_cast<Scalar>(scale); }

 protected:
  using model_parameters<Scalar>::at;
  using model_parameters<Scalar>::data;
  using model_parameters<Scalar>::weights_for;
  using sized_stage = typename model_parameters<Scalar>::sized_stage;

  // A slot as the group of matrices it holds. Throws std::length_error if it is too small for them.
  template <class Layout>
  static Layout laid_out(sized_stage const& s, ashlar::buffer slot, std::size_t size) {
    if (slot.size() < size * sizeof(Scalar)) {
      throw std::length_error("stage " + std::to_string(s.shape.stage) + " needs a slot of "
                              + std::to_string(size * sizeof(Scalar)) + " bytes, not "
                              + std::to_string(slot.size()));
    }
    carver<Scalar> from(data(slot));
    return Layout(from, s.shape);
  }

  std::size_t rows_of(int micro_batch) const {
    return static_cast<std::size_t>(this->shape().sequences_of(micro_batch))
           * static_cast<std::size_t>(this->shape().context);
  }

  std::span<token const> tokens(std::vector<token> const& all, int micro_batch) const {
    auto const before = static_cast<std::size_t>(this->shape().rows());  // only the last may be shorter
    return std::span(all).subspan(static_cast<std::size_t>(micro_batch) * before, rows_of(micro_batch));
  }

  void run_input_shard_forward(ashlar::frame const& f) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    weights_for(f).embedding.forward(tokens(batch_.inputs, f.what.micro_batch),
                                     stream_in(s, data(f.outputs[0])));
  }
  // `gradient`: that of the output; in a backward of two parts the weight part finds it in the weight
  // stash.
  void run_input_shard_backward(ashlar::frame const& f, backward_parts parts, Scalar* gradient) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    if (!parts.weight) std::copy_n(data(f.inputs[0]), s.input_size, gradient);
    if (parts.weight)
      this->template parameters_of<Scalar>(s, data(f.weight_gradient), {})
          .embedding.backward_weight(tokens(batch_.inputs, f.what.micro_batch), stream_in(s, gradient));
  }
  // The outputs of the embedding's shards, added up in their order in the stash of the stage after them.
  Scalar const* sum_of_shards(ashlar::frame const& f) const {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    auto const stash = laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size);
    join_late<Scalar>(
        this->shape().input_shards,
        [&f](int shard) -> Scalar const* { return data(f.inputs[static_cast<std::size_t>(shard)]); },
        stash.stream);
    return stash.stream.data;
  }

  void run_shard_forward(ashlar::frame const& f, Scalar const* input) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    shard_forward<Scalar>(s.shape, weights_for(f).head,
                          laid_out<shard_stash<Scalar>>(s, f.stash, s.stash_size),
                          tokens(batch_.targets, f.what.micro_batch), input,
                          f.outputs.empty() ? nullptr : data(f.outputs[0]),
                          f.outputs.size() < 2 ? nullptr : data(f.outputs[1]));
  }
  void run_shard_backward(ashlar::frame const& f, backward_parts parts, shard_stash<Scalar> const& stash,
                          shard_gradients<Scalar> const& gradients) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    if (parts.input) {
      double const loss = shard_cross_entropy<Scalar>(s.shape, stash, told_by<shard_statistics>(f),
                                                      tokens(batch_.targets, f.what.micro_batch),
                                                      row_scale(), gradients.logits);
      // All shards know the loss. The last one stores it.
      if (s.shape.shard == s.shape.model.shards - 1)
        losses_[static_cast<std::size_t>(f.what.micro_batch)] = loss;
      if (!f.outputs.empty())
        weights_for(f).head.backward_input(gradients.logits, stream_in(s, data(f.outputs[0])));
    }
    if (parts.weight)
      this->template parameters_of<Scalar>(s, data(f.weight_gradient), {})
          .head.backward_weight(stash.input, gradients.logits);
  }
  void join_shards(ashlar::frame const& f, matrix<Scalar> const& gradient) const {
    int const shards = this->shape().shards;
    if (this->shape().early)
      return join_early<Scalar>(shards, told_by<early_gradient>(f), row_scale(), gradient);
    join_late<Scalar>(
        shards,
        [&f](int shard) -> Scalar const* { return data(f.inputs[static_cast<std::size_t>(shard)]); },
        gradient);
  }

  gpt::batch batch_;
  std::vector<double> losses_;
  Scalar loss_scale_ = 1;

 private:
  // Rows x width at a place.
  static matrix<Scalar> stream_in(sized_stage const& s, Scalar* at) {
    int const width = s.shape.model.width;
    return {at, s.shape.model.rows(), width, width};
  }
  // A message of a shard, by the number of the shard.
  template <template <class> class Layout>
  auto told_by(ashlar::frame const& f) const {
    return [&f, &shape = at(f.what.stage).on(f.what.micro_batch).shape](int shard) {
      carver<Scalar const> from(data(f.inputs[static_cast<std::size_t>(shard)]));
      return Layout<Scalar const>(from, shape);
    };
  }
  // The weight of a row in the gradient of the mean loss of the step, over all ranks.
  Scalar row_scale() const {
    return loss_scale_
           / (static_cast<Scalar>(this->shape().tokens())
              * static_cast<Scalar>(this->shape().data_ranks));
  }
};

}  // namespace gpt
