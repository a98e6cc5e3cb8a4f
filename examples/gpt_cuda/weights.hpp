// The places of a stage's tensors on its device.
#pragma once

#include "element.hpp"

#include <gpt/config.hpp>
#include <gpt/stage.hpp>
#include <gpt/tensor.hpp>

namespace gpt_cuda {

// The tensors that a stage computes with: in the layout of the floats at `floats`, but of the elements
// at `values`, which in fp32 are the same. Tied ones lie elsewhere.
template <class T>
struct stage_weights {
  using layout = gpt::stage_parameters<float const>;
  using tensor = gpt::matrix<float const>;

  float const* floats;
  T const* values;
  T const* tied;  // null: nothing is
  layout tensors;

  // `tied_floats` and `tied_values` are null if nothing is tied at this stage.
  stage_weights(gpt::stage_shape const& shape, float const* floats_, T const* values_,
                float const* tied_floats, T const* tied_values)
      : floats(floats_),
        values(values_),
        tied(tied_values),
        tensors(laid_out(shape, floats_, tied_floats)) {}

  T const* operator()(tensor const& t) const { return values + (t.data - floats); }
  // vocabulary x width
  T const* embedding() const { return tied != nullptr ? tied : (*this)(tensors.embedding.tokens); }
  T const* head() const { return tied != nullptr ? tied : (*this)(tensors.head.weight); }

 private:
  static layout laid_out(gpt::stage_shape const& shape, float const* floats, float const* tied) {
    gpt::carver<float const> from(floats);
    return {from, shape, {{tied, gpt::vocabulary, shape.model.width, shape.model.width}}};
  }
};

// The gradients of a stage's tensors, in the same layout.
inline gpt::stage_parameters<float> gradients_at(gpt::stage_shape const& shape, float* own,
                                                 float* tied) {
  gpt::carver<float> from(own);
  return {from, shape, {{tied, gpt::vocabulary, shape.model.width, shape.model.width}}};
}

}  // namespace gpt_cuda
