// A mixture of experts in place of a block's MLP: a router sends each token to the few experts that it
// rates highest, and adds up what they make of it, weighed by a softmax of these ratings.
#pragma once

#include "arithmetic.hpp"
#include "config.hpp"
#include "gelu.hpp"
#include "linear.hpp"
#include "load_balance.hpp"
#include "tensor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

namespace gpt {

// Matrices that the forward pass keeps. Tokens that were sent to one expert stand together, in their
// order.
template <class Scalar>
struct experts_stash {
  matrix<Scalar> probabilities;  // rows x experts
  matrix<Scalar> counts;         // 1 x experts: how many tokens each got
  matrix<Scalar> chosen;         // rows x chosen: the experts' numbers
  matrix<Scalar> place;          // rows x chosen: where the token stands among those sent
  matrix<Scalar> gates;          // rows x chosen: the weights of what they make
  matrix<Scalar> sent;           // (rows chosen) x width
  matrix<Scalar> slope;          // (rows chosen) x hidden of an expert: of the activation
  matrix<Scalar> hidden;         // likewise: after the activation
  matrix<Scalar> made;           // (rows chosen) x width

  experts_stash(carver<Scalar>& from, config const& shape)
      : probabilities(from.take(shape.routed_rows(), shape.experts)),
        counts(from.take(1, shape.experts)),
        chosen(from.take(shape.routed_rows(), shape.chosen)),
        place(from.take(shape.routed_rows(), shape.chosen)),
        gates(from.take(shape.routed_rows(), shape.chosen)),
        sent(from.take(shape.routed_rows() * shape.chosen, shape.width)),
        slope(from.take(shape.routed_rows() * shape.chosen, shape.expert_hidden())),
        hidden(from.take(shape.routed_rows() * shape.chosen, shape.expert_hidden())),
        made(from.take(shape.routed_rows() * shape.chosen, shape.width)) {}
};

// Matrices that the input gradient leaves for the weight gradient.
template <class Scalar>
struct experts_gradients {
  matrix<Scalar> logits;  // rows x experts
  matrix<Scalar> up;      // (rows chosen) x hidden of an expert
  matrix<Scalar> down;    // (rows chosen) x width

  experts_gradients(carver<Scalar>& from, config const& shape)
      : logits(from.take(shape.routed_rows(), shape.experts)),
        up(from.take(shape.routed_rows() * shape.chosen, shape.expert_hidden())),
        down(from.take(shape.routed_rows() * shape.chosen, shape.width)) {}
};

// The loss that spreads tokens, as a backward pass adds its gradient.
template <class Scalar>
struct balancing {
  std::span<double const> counts;  // by expert; empty: the micro-batch's own
  double weight = 0;               // of the gradient of a micro-batch's loss
  double* loss = nullptr;          // to write

  // The counts, and the number of tokens that they cover.
  expert_counts of(std::span<double> own, experts_stash<Scalar> const& stash, int chosen) const {
    std::copy_n(stash.counts.data, own.size(), own.data());
    std::span<double const> const used = counts.empty() ? own : counts;
    double routed = 0;
    for (double count : used) routed += count;
    return {used, routed / chosen};
  }
};

// The parameters of one expert, or their gradient.
template <class Scalar>
struct expert {
  linear<Scalar> up;
  linear<Scalar> down;

  expert(carver<Scalar>& from, config const& shape)
      : up(from, shape.width, shape.expert_hidden()), down(from, shape.expert_hidden(), shape.width) {}
};

// The parameters of a router and its experts (Scalar const) or their gradient (Scalar).
template <class Scalar>
struct expert_layer {
  using value = std::remove_const_t<Scalar>;

  linear<Scalar> router;
  repeated<expert<Scalar>, Scalar, config> experts;

  expert_layer(carver<Scalar>& from, config const& shape)
      : router(from, shape.width, shape.experts), experts(from, shape, shape.experts) {}

  // Adds to the stream the sum over a token's experts of gate * expert(x).
  void join(matrix<value const> const& x, experts_stash<value> const& stash,
            matrix<value> const& stream) const {
    router.forward(x, stash.probabilities);
    route(x, stash);
    for_each_expert(stash, [&](expert<Scalar> const& e, auto rows_of) {
      e.up.forward(rows_of(stash.sent), rows_of(stash.hidden));
      gelu(rows_of(stash.hidden), rows_of(stash.slope));
      e.down.forward(rows_of(stash.hidden), rows_of(stash.made));
    });
    for (int t = 0; t < x.rows; ++t)
      for (int c = 0; c < stash.gates.cols; ++c) {
        value const* const made = stash.made.row(static_cast<int>(stash.place(t, c)));
        for (int j = 0; j < stream.cols; ++j) stream(t, j) += stash.gates(t, c) * made[j];
      }
  }

  // `dx` becomes the gradient of x for that of the output. `sent`, (rows chosen) x width, is scratch.
  void backward_input(matrix<value const> const& output, experts_stash<value> const& stash,
                      experts_gradients<value> const& gradients, balancing<value> const& balance,
                      matrix<value> const& sent, matrix<value> const& dx) const {
    back_through_gates(output, stash, gradients);
    add_balance(stash, gradients, balance);
    for_each_expert(stash, [&](expert<Scalar> const& e, auto rows_of) {
      e.down.backward_input(rows_of(gradients.down), rows_of(gradients.up));
      gelu_backward(rows_of(stash.slope), rows_of(gradients.up));
      e.up.backward_input(rows_of(gradients.up), rows_of(sent));
    });
    router.backward_input(gradients.logits, dx);
    for (int t = 0; t < dx.rows; ++t)
      for (int c = 0; c < stash.place.cols; ++c) {
        value const* const part = sent.row(static_cast<int>(stash.place(t, c)));
        for (int j = 0; j < dx.cols; ++j) dx(t, j) += part[j];
      }
  }

  // Call it on the gradient.
  void backward_weight(matrix<value const> const& x, experts_stash<value> const& stash,
                       experts_gradients<value> const& gradients) const {
    router.backward_weight(x, gradients.logits);
    for_each_expert(stash, [&](expert<Scalar> const& e, auto rows_of) {
      e.down.backward_weight(rows_of(stash.hidden), rows_of(gradients.down));
      e.up.backward_weight(rows_of(stash.sent), rows_of(gradients.up));
    });
  }

  template <class F>
  void visit(std::string const& name, double joining, F&& f) const {
    router.visit(name + ".router", 1, f);
    for (int e = 0; e < experts.size(); ++e) {
      std::string const own = name + ".expert " + std::to_string(e);
      experts[e].up.visit(own + ".up", 1, f);
      experts[e].down.visit(own + ".down", joining, f);
    }
  }

 private:
  // Calls f(expert, rows_of) for each expert that tokens were sent to, where rows_of(matrix) has the
  // rows of its tokens.
  template <class F>
  void for_each_expert(experts_stash<value> const& stash, F const& f) const {
    int first = 0;
    for (int e = 0; e < experts.size(); ++e) {
      int const count = static_cast<int>(stash.counts(0, e));
      if (count > 0)
        f(experts[e], [=](matrix<value> const& all) { return all.block(first, 0, count, all.cols); });
      first += count;
    }
  }

  // Computes, from the logits in `probabilities`, everything that says which token goes where.
  void route(matrix<value const> const& x, experts_stash<value> const& stash) const {
    std::size_t const chosen = static_cast<std::size_t>(stash.chosen.cols);
    std::array<int, config::most_chosen> best;
    std::fill_n(stash.counts.data, stash.counts.cols, value{});
    for (int t = 0; t < x.rows; ++t) {
      value* const logits = stash.probabilities.row(t);
      choose_experts(logits, stash.probabilities.cols, std::span(best).first(chosen));
      for (int c = 0; c < stash.chosen.cols; ++c) {
        int const e = best[static_cast<std::size_t>(c)];
        stash.chosen(t, c) = static_cast<value>(e);
        stash.gates(t, c) = logits[e];
        stash.counts(0, e) += 1;
      }
      expert_probabilities(stash.gates.row(t), stash.gates.cols, stash.gates.row(t));
      expert_probabilities(logits, stash.probabilities.cols, logits);
    }
    int next = 0;
    for (int e = 0; e < stash.counts.cols; ++e)
      for (int t = 0; t < x.rows; ++t)
        for (int c = 0; c < stash.chosen.cols; ++c)
          if (static_cast<int>(stash.chosen(t, c)) == e) {
            std::copy_n(x.row(t), x.cols, stash.sent.row(next));
            stash.place(t, c) = static_cast<value>(next++);
          }
  }

  // Computes the gradients of the experts' outputs, and of the logits by way of the gates.
  static void back_through_gates(matrix<value const> const& output, experts_stash<value> const& stash,
                                 experts_gradients<value> const& gradients) {
    std::array<value, config::most_chosen> by_gate;
    for (int t = 0; t < output.rows; ++t) {
      value mean{};
      for (int c = 0; c < stash.gates.cols; ++c) {
        int const place = static_cast<int>(stash.place(t, c));
        value const gate = stash.gates(t, c);
        value& by = by_gate[static_cast<std::size_t>(c)];
        by = dot<value>(output.row(t), stash.made.row(place), output.cols);
        mean += gate * by;
        for (int j = 0; j < output.cols; ++j) gradients.down(place, j) = gate * output.row(t)[j];
      }
      std::fill_n(gradients.logits.row(t), gradients.logits.cols, value{});
      for (int c = 0; c < stash.gates.cols; ++c)
        gradients.logits(t, static_cast<int>(stash.chosen(t, c))) =
            stash.gates(t, c) * (by_gate[static_cast<std::size_t>(c)] - mean);
    }
  }

  static void add_balance(experts_stash<value> const& stash, experts_gradients<value> const& gradients,
                          balancing<value> const& balance) {
    std::array<double, config::most_experts> own;
    int const experts = stash.probabilities.cols, chosen = stash.chosen.cols;
    expert_counts const counts =
        balance.of(std::span(own).first(static_cast<std::size_t>(experts)), stash, chosen);
    *balance.loss = load_balance_loss<value const>(stash.probabilities, counts, chosen);
    for (int t = 0; t < gradients.logits.rows; ++t)
      add_load_balance_gradient<value>(stash.probabilities.row(t), gradients.logits.rows, counts, chosen,
                                       balance.weight, gradients.logits.row(t));
  }
};

}  // namespace gpt
