// K-FAC's step of the optimizer, and those that it is compared with.
#pragma once

#include "gpt/adam.hpp"
#include "gpt/arithmetic.hpp"
#include "gpt/tensor.hpp"
#include "gpt/worker.hpp"
#include "kfac/curvature.hpp"
#include "kfac/worker.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace kfac {

enum class method : unsigned char { sgd, adam, kfac };

struct optimizer_options {
  method layers = method::kfac;  // for the linear layers of the blocks
  method others = method::adam;  // for all else: sgd or adam
  double rate = 1;               // of the layers; with sgd for all else, also of that
  double momentum = 0.9;         // of sgd and kfac
  // Limit of kfac's rate² · gradient · direction: about twice the change of the predictions (as a
  // divergence) that a step makes. A longer direction is shortened to it, before the momentum.
  double most_change = 3e-5;
  gpt::adam_options adam = {};  // its rate is that of all else, its clip also for sgd
  double schedule = 1;          // all rates are multiplied with it, also those of shortened steps
};

// Weight and bias of a layer alternate in the list of tensors.
inline bool is_of_layer(gpt::tensor_description const& what) {
  return what.name.starts_with("block ") && what.name.find(".norm") == std::string::npos;
}

// Computes moment = momentum · moment + scale · direction, then weight -= rate · schedule · moment.
template <class Scalar>
void descend(optimizer_options const& o, double scale, std::span<Scalar const> direction,
             std::span<Scalar> weight, std::span<Scalar> moment) {
  for (std::size_t i = 0; i < weight.size(); ++i) {
    moment[i] = static_cast<Scalar>(o.momentum) * moment[i] + static_cast<Scalar>(scale) * direction[i];
    weight[i] -= static_cast<Scalar>(o.rate * o.schedule) * moment[i];
  }
}

// A layer's gradient between its inverses, and the weights that it changes.
template <class Scalar>
struct layer_step {
  std::span<Scalar> weight, weight_moment, bias, bias_moment;
  gpt::array<Scalar> direction;  // of the weight, then of the bias
};

// Makes one step between two runs of a program. The step that kfac shortens is that of all layers
// together. Throws std::logic_error if kfac has to step before anything has been inverted.
template <class Scalar>
void update(worker<Scalar>& w, optimizer_options const& o) {
  double const clip = o.adam.scale_for(gpt::gradient_norm(std::vector<gpt::worker<Scalar>*>{&w}));
  std::vector<layer_step<Scalar>> steps;
  double product = 0;  // of gradients and directions
  int tensors = 0;     // of layers so far
  gpt::matrix<Scalar> above, above_gradient;
  for (int group = 0; group < w.shape().groups(); ++group) {
    int const number = w.updates(group) + 1;
    w.set_updates(group, number);
    Scalar const* const weights = w.weights(group).data();
    auto const beside = [&](std::span<Scalar> all, gpt::matrix<Scalar> const& tensor) {
      return all.subspan(static_cast<std::size_t>(tensor.data - weights), tensor.size());
    };
    w.visit(group, [&](gpt::tensor_description const& what, gpt::matrix<Scalar> const& tensor,
                       gpt::matrix<Scalar> const& gradient) {
      auto const moment = beside(w.first_moment(group), tensor);
      bool const in_layer = is_of_layer(what);
      method const by = in_layer ? o.layers : o.others;
      if (by == method::sgd) return descend<Scalar>(o, clip, gradient.flat(), tensor.flat(), moment);
      if (by == method::adam) {
        gpt::adam_options adam = o.adam;
        adam.rate = o.schedule * (in_layer ? o.rate : adam.rate);
        return gpt::adam_step<Scalar>(adam, number, clip, tensor.flat(), gradient.flat(), moment,
                                      beside(w.second_moment(group), tensor));
      }
      if (tensors++ % 2 == 0) {
        above = tensor;
        above_gradient = gradient;
        return;
      }
      gpt::array<Scalar> joined(above.size() + tensor.size()), direction(joined.size());
      std::ranges::copy(above_gradient.flat(), joined.data());
      std::ranges::copy(gradient.flat(), joined.data() + above.size());
      auto const as_matrix = [&](gpt::array<Scalar> const& a) {
        return gpt::matrix<Scalar>{a.data(), above.rows + 1, above.cols, above.cols};
      };
      w.curvature(tensors / 2 - 1).precondition(as_matrix(joined), as_matrix(direction));
      product += static_cast<double>(
          gpt::dot<Scalar>(joined.data(), direction.data(), static_cast<int>(joined.size())));
      steps.push_back({above.flat(), beside(w.first_moment(group), above), tensor.flat(), moment,
                       std::move(direction)});
    });
  }
  double const change = o.rate * o.rate * product;
  double const scale = change > o.most_change ? std::sqrt(o.most_change / change) : 1;
  for (layer_step<Scalar> const& s : steps) {
    auto const all = s.direction.span();
    descend<Scalar>(o, scale, all.first(s.weight.size()), s.weight, s.weight_moment);
    descend<Scalar>(o, scale, all.last(s.bias.size()), s.bias, s.bias_moment);
  }
}

}  // namespace kfac
