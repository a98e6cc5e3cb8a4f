// The model as a worker, whose passes an engine calls to run a schedule.
#pragma once

#include "adam.hpp"
#include "batch.hpp"
#include "batch_values.hpp"
#include "config.hpp"
#include "exact_sum.hpp"
#include "shard_worker.hpp"
#include "stage.hpp"
#include "tensor.hpp"
#include <ashlar/core/pass.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpt {

// A GPT cut into stages. Passes may run on several threads at once; everything else (set_batch, update,
// ...) only between steps. A pass neither allocates nor locks, and gives the same bits on any thread.
//
// Every forward and recompute needs the stash, also where a later recompute rebuilds it: it is their
// working memory.
template <class Scalar>
class worker : public shard_worker<Scalar> {
 public:
  // Throws std::invalid_argument if there is no such model.
  worker(config const& of, std::uint64_t seed, worker_site site = {}, values_work work = {})
      : shard_worker<Scalar>(of, seed, std::move(site)),
        balance_losses_(static_cast<std::size_t>(of.micro_batches) * blocks(), 0.0),
        loads_(balance_losses_.size() * static_cast<std::size_t>(of.experts), 0.0),
        prediction_losses_(of.predicts ? static_cast<std::size_t>(of.micro_batches) : 0, 0.0),
        values_(of, std::move(work)) {}

  using shard_worker<Scalar>::weights;

  // Results of a step: the loss that spreads tokens over experts, by micro-batch and block, and how many
  // tokens of the micro-batch each expert got, by micro-batch, block and expert. Zeros for the blocks of
  // stages that are not here.
  std::span<double const> balance_losses() const { return balance_losses_; }
  std::span<double const> expert_loads() const { return loads_; }
  // The loss of the prediction layer, by micro-batch: the mean over its tokens that have one after the
  // next, in nats. Empty without one.
  std::span<double const> prediction_losses() const { return prediction_losses_; }

  // --- What the engine calls for a pass
  // -----------------------------------------------------------------------------------

  // The value that a slot holds for a stage or group; 0 bytes where the stage has nothing to keep there.
  ashlar::value_layout layout(ashlar::value_key key) const {
    if (key.kind == ashlar::slot_kind::work || key.kind == ashlar::slot_kind::work_state)
      return values_.layout(key, [this](int stage) { return this->elements(stage) * sizeof(Scalar); });
    return {bytes(key.kind, key.of, key.micro_batch), 64,
            sizeof(Scalar) == sizeof(float) ? ashlar::element_type::f32 : ashlar::element_type::f64};
  }
  std::size_t bytes(ashlar::slot_kind kind, int stage, int micro_batch = 0) const {
    if (stage >= this->shape().stages) return this->elements(stage) * sizeof(Scalar);
    sized_stage const& own = at(stage).on(micro_batch);
    switch (kind) {
      case ashlar::slot_kind::activation:
        return own.output_size * sizeof(Scalar);
      case ashlar::slot_kind::gradient:
        return own.gradient_size * sizeof(Scalar);
      case ashlar::slot_kind::checkpoint:
        return own.shape.first || own.shape.is_input_shard() ? 0 : own.input_size * sizeof(Scalar);
      case ashlar::slot_kind::stash:
        return own.stash_size * sizeof(Scalar);
      case ashlar::slot_kind::weight_stash:
        return own.weight_stash_size * sizeof(Scalar);
      case ashlar::slot_kind::weight_gradient:
      case ashlar::slot_kind::weight:
      case ashlar::slot_kind::gradient_shard:
      case ashlar::slot_kind::micro_gradient:
        return this->elements(stage) * sizeof(Scalar);
      case ashlar::slot_kind::sequence_state:  // each chunk of a sequence is one of its own to this
                                               // model
      case ashlar::slot_kind::sequence_gradient:
      case ashlar::slot_kind::scalar:
      case ashlar::slot_kind::work:  // see layout()
      case ashlar::slot_kind::work_state:
      case ashlar::slot_kind::host_checkpoint:  // nobody asks: as on the device
      case ashlar::slot_kind::host_stash:
        break;
    }
    return 0;
  }

  void forward(auto&, ashlar::frame const& f) {
    auto const& shape = at(f.what.stage).shape;
    if (shape.is_input_shard()) return this->run_input_shard_forward(f);
    Scalar const* const input = shape.first           ? nullptr
                                : shape.fed_by_shards ? this->sum_of_shards(f)
                                                      : data(f.inputs[0]);
    if (!f.checkpoint.empty() && input != nullptr) {
      std::copy_n(input, at(f.what.stage).on(f.what.micro_batch).input_size, data(f.checkpoint));
    }
    if (shape.is_shard()) return this->run_shard_forward(f, input);
    stage_losses const losses = run_forward(f, input, shape.has_output() ? data(f.outputs[0]) : nullptr);
    if (!loads_.empty()) count(f.stash, f.what.stage, loads_of(f.what.micro_batch));
    if (shape.last) losses_[static_cast<std::size_t>(f.what.micro_batch)] = losses.next;
    if (shape.predicts())
      prediction_losses_[static_cast<std::size_t>(f.what.micro_batch)] = losses.after_next;
  }

  void recompute(auto&, ashlar::frame const& f) {
    if (at(f.what.stage).shape.is_input_shard()) return;  // it keeps nothing
    if (at(f.what.stage).shape.is_shard()) return this->run_shard_forward(f, data(f.checkpoint));
    run_forward(f, at(f.what.stage).shape.first ? nullptr : data(f.checkpoint), nullptr);
  }

  // Needs no weight stash: the working memory at the end of the stash is enough.
  void backward(auto&, ashlar::frame const& f) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    if (s.shape.is_input_shard())
      return this->run_input_shard_backward(f, {true, true}, data(f.inputs[0]));
    if (s.shape.is_shard()) {
      auto const stash = this->template laid_out<shard_stash<Scalar>>(s, f.stash, s.stash_size);
      return this->run_shard_backward(f, {true, true}, stash, stash.gradients);
    }
    stage_stash<Scalar> const stash =
        this->template laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size);
    run_backward(f, {true, true}, stash, stash.gradients);
  }

  void backward_input(auto&, ashlar::frame const& f) { run_split(f, {true, false}); }
  void backward_weight(auto&, ashlar::frame const& f) { run_split(f, {false, true}); }

  void work(auto&, ashlar::frame const& f) {
    values_.work(f, [this](ashlar::buffer stash, int stage, std::span<double> counts) {
      std::ranges::fill(counts, 0.0);
      count(stash, stage, counts);
    });
  }

 protected:
  using shard_worker<Scalar>::at;
  using shard_worker<Scalar>::data;
  using sized_stage = typename shard_worker<Scalar>::sized_stage;
  using state = typename shard_worker<Scalar>::state;

  // Runs a pass that hands on gradients from the input part to the weight part in the weight stash.
  void run_split(ashlar::frame const& f, backward_parts parts) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    if (s.shape.is_input_shard()) return this->run_input_shard_backward(f, parts, data(f.weight_stash));
    if (s.shape.is_shard())
      return this->run_shard_backward(
          f, parts, this->template laid_out<shard_stash<Scalar>>(s, f.stash, s.stash_size),
          this->template laid_out<shard_gradients<Scalar>>(s, f.weight_stash, s.weight_stash_size));
    run_backward(
        f, parts, this->template laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size),
        this->template laid_out<stage_gradients<Scalar>>(s, f.weight_stash, s.weight_stash_size));
  }

 private:
  using shard_worker<Scalar>::batch_;
  using shard_worker<Scalar>::losses_;
  using shard_worker<Scalar>::loss_scale_;
  using shard_worker<Scalar>::tokens;
  using shard_worker<Scalar>::weights_for;

  std::size_t blocks() const { return static_cast<std::size_t>(this->shape().blocks); }
  // A micro-batch's loads, by block and expert.
  std::span<double> loads_of(int micro_batch) {
    std::size_t const size = blocks() * static_cast<std::size_t>(this->shape().experts);
    return std::span(loads_).subspan(static_cast<std::size_t>(micro_batch) * size, size);
  }
  // Copies the counts of a stage's blocks from its stash to those of all blocks.
  void count(ashlar::buffer slot, int stage, std::span<double> counts) const {
    state const& s = at(stage);
    auto const stash = this->template laid_out<stage_stash<Scalar>>(s, slot, s.stash_size);
    auto const experts = static_cast<std::ptrdiff_t>(s.shape.model.experts);
    for (int i = 0; i < s.shape.blocks; ++i)
      std::ranges::copy(counts_of_block(stash, i), counts.begin() + (s.shape.first_block + i) * experts);
  }
  // The counts of the batch that a backward has found, and the place of its losses.
  stage_balance balance_of(ashlar::frame const& f) {
    gpt::stage_shape const& shape = at(f.what.stage).shape;
    if (shape.model.experts == 0) return {};
    auto const first = static_cast<std::size_t>(shape.first_block),
               count = static_cast<std::size_t>(shape.blocks),
               experts = static_cast<std::size_t>(shape.model.experts);
    stage_balance b{
        {},
        std::span(balance_losses_)
            .subspan(static_cast<std::size_t>(f.what.micro_batch) * blocks() + first, count)};
    if (!f.work_inputs.empty())
      b.counts =
          std::span(reinterpret_cast<double const*>(f.work_inputs[0].bytes.data()), blocks() * experts)
              .subspan(first * experts, count * experts);
    return b;
  }

  stage_losses run_forward(ashlar::frame const& f, Scalar const* input, Scalar* output) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    auto const stash = this->template laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size);
    return stage_forward<Scalar>(s.shape, weights_for(f), stash,
                                 tokens(batch_.inputs, f.what.micro_batch),
                                 tokens(batch_.targets, f.what.micro_batch), input, output);
  }

  void run_backward(ashlar::frame const& f, backward_parts parts, stage_stash<Scalar> const& stash,
                    stage_gradients<Scalar> const& gradients) {
    sized_stage const& s = at(f.what.stage).on(f.what.micro_batch);
    std::array<Scalar const*, 2> up{};  // a prediction layer and the head may both read the output
    std::size_t const ups =
        parts.input && s.shape.has_output() && !s.shape.feeds_shards ? f.inputs.size() : 0;
    for (std::size_t i = 0; i < ups; ++i) up.at(i) = data(f.inputs[i]);
    bool const down = parts.input && !s.shape.first;
    if (parts.input && s.shape.feeds_shards) this->join_shards(f, gradients.norm);
    tied_ends<Scalar> const tied = f.shared_gradients.empty()
                                       ? tied_ends<Scalar>()
                                       : this->tied_ends_at(data(f.shared_gradients[0]));
    stage_backward<Scalar>(s.shape, parts, weights_for(f), stash, gradients,
                           tokens(batch_.inputs, f.what.micro_batch),
                           tokens(batch_.targets, f.what.micro_batch), std::span(up.data(), ups),
                           down ? data(f.outputs[0]) : nullptr,
                           this->template parameters_of<Scalar>(s, data(f.weight_gradient), tied),
                           loss_scale_, parts.input ? balance_of(f) : stage_balance{});
    if (down)  // each shard of the embedding gets the same
      for (std::size_t i = 1; i < f.outputs.size(); ++i)
        std::copy_n(data(f.outputs[0]), s.input_size, data(f.outputs[i]));
  }

  std::vector<double> balance_losses_;     // by micro-batch and block
  std::vector<double> loads_;              // by micro-batch, block and expert
  std::vector<double> prediction_losses_;  // by micro-batch
  batch_values<Scalar> values_;
};

// The number of data-parallel ranks that have a part of the gradient that no other has: all of them, or
// the first, which has all of it.
template <class Scalar>
int counted_ranks(worker<Scalar> const& w) {
  return w.is_sharded() ? w.shape().data_ranks : 1;
}

// The Euclidean norm of the gradient of a model that data-parallel ranks train together, with a worker
// each. Its bits do not depend on how the model is divided.
template <class Scalar>
double gradient_norm(std::vector<worker<Scalar>*> const& ranks) {
  exact_sum total;
  for (int rank = 0; rank < counted_ranks(*ranks[0]); ++rank)
    for (int g = 0; g < ranks[0]->shape().groups(); ++g)
      total.add(ranks[static_cast<std::size_t>(rank)]->squares(g));
  return std::sqrt(total.value());
}

// Makes one Adam step on all ranks.
template <class Scalar>
void update(std::vector<worker<Scalar>*> const& ranks, adam_options const& options) {
  double const scale = options.scale_for(gradient_norm(ranks));
  for (worker<Scalar>* w : ranks)
    for (int g = 0; g < w->shape().groups(); ++g) w->update(g, options, scale);
}

}  // namespace gpt
