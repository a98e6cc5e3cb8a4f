// The model of examples/gpt with K-FAC's work beside its passes.
#pragma once

#include "gpt/config.hpp"
#include "gpt/stage.hpp"
#include "gpt/worker.hpp"
#include "kfac/curvature.hpp"
#include "kfac/work.hpp"
#include <ashlar/program/program.hpp>
#include <ashlar/run/contract.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace kfac {

// A worker for one data-parallel rank. Runs programs with the work of work_for(), and without work.
// Inversions allocate memory; passes and sums do not.
template <class Scalar>
class worker : public gpt::worker<Scalar> {
 public:
  // Throws std::invalid_argument if there is no such model, and for data-parallel ranks and experts.
  worker(gpt::config const& of, std::uint64_t seed, curvature_options const& options = {})
      : gpt::worker<Scalar>(of, seed), options_(options) {
    if (of.data_ranks != 1) throw std::invalid_argument("K-FAC trains one data-parallel rank");
    if (of.experts != 0) throw std::invalid_argument("K-FAC trains no experts");
    for (int layer = 0; layer < of.blocks * layers_of_block; ++layer)
      curvature_.emplace_back(shape_of_layer(of, layer));
  }

  ashlar::value_layout layout(ashlar::value_key key) const {
    if (key.kind == ashlar::slot_kind::work) return {0, 64};  // sums say when they are whole
    if (key.kind != ashlar::slot_kind::work_state) return gpt::worker<Scalar>::layout(key);
    auto const& shape = this->at(stage_of(key.of)).shape;
    return {gpt::elements_of<stage_sums<Scalar>, Scalar>(shape) * sizeof(Scalar), 64};
  }

  // A fused backward, too, leaves the gradients of all blocks.
  void backward(auto&, ashlar::frame const& f) { this->run_split(f, {true, true}); }

  void work(auto&, ashlar::frame const& f) {
    auto const [job, part] = ashlar::part_of(f.what);
    int const stage = stage_of(job);
    auto const& own = this->at(stage);
    gpt::carver<Scalar> from(this->data(f.work_state));
    stage_sums<Scalar> const sums(from, own.shape);
    switch (task_of(job)) {
      case task::add_inputs:
        return add(sums, this->template laid_out<gpt::stage_stash<Scalar>>(own, f.work_inputs[0].bytes,
                                                                           own.stash_size));
      case task::add_gradients:
        return add(sums, this->template laid_out<gpt::stage_gradients<Scalar>>(
                             own, f.work_inputs[0].bytes, own.weight_stash_size));
      case task::invert:
        return invert(own.shape, sums, part);
    }
  }

  // The curvature of a layer of the whole model.
  layer_curvature<Scalar> const& curvature(int layer) const {
    return curvature_[static_cast<std::size_t>(layer)];
  }

 protected:
  // Inverts the factors of one of the stage's layers.
  void invert(gpt::stage_shape const& shape, stage_sums<Scalar> const& sums, int layer) {
    auto const of_block = static_cast<std::size_t>(layer % layers_of_block);
    curvature_[static_cast<std::size_t>(shape.first_block * layers_of_block + layer)].refresh(
        sums.blocks[layer / layers_of_block].layers[of_block], this->shape().tokens(), options_);
  }

 private:
  curvature_options options_;
  std::vector<layer_curvature<Scalar>> curvature_;  // by layer of the model
};

}  // namespace kfac
