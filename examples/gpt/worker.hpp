// The model as a worker: what an engine calls to run the passes of a schedule.
#pragma once

#include "adam.hpp"
#include "batch.hpp"
#include "config.hpp"
#include "initial.hpp"
#include "stage.hpp"
#include "tensor.hpp"
#include <ashlar/core/pass.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpt {

// Where a worker stands in a program, of which a tied embedding is the last group.
struct worker_site {
  int rank = 0;                    // data-parallel
  bool sharded = false;            // does it keep no more than its shard of what a stage has for itself?
  std::vector<int> holders = {0};  // devices with a copy of what is tied
};

inline worker_site site_in(ashlar::program const& p, int rank) {
  ashlar::list_view<int> const holders = p.groups.holders(p.groups.count() - 1);
  return {rank, p.sharding != ashlar::sharding_level::none, {holders.begin(), holders.end()}};
}

// A GPT cut into stages. Passes may run on several threads at once; everything else (set_batch, update,
// ...) only between steps. A pass neither allocates nor locks, and gives the same bits on any thread.
//
// Every forward and recompute needs the stash, also where a later recompute rebuilds it: it is their
// working memory.
//
// The replicas of a stage share one memory of its parameters. A group is what a stage has for itself or,
// after the stages, the tied embedding.
template <class Scalar>
class worker {
 public:
  // Throws std::invalid_argument if there is no such model.
  worker(config const& shape, std::uint64_t seed, worker_site site = {})
      : shape_(shape), site_(std::move(site)) {
    require_valid(shape);
    for (int i = 0; i < shape.stages; ++i) {
      stages_.emplace_back(shape_of(shape, i));
      groups_.push_back(std::make_unique<parameter_group>(
          1, elements_of<stage_parameters<Scalar>, Scalar>(at(i).shape)));
    }
    if (shape.tied)
      groups_.push_back(
          std::make_unique<parameter_group>(site_.holders.size(), tied_matrix<Scalar>(nullptr).size()));
    for (int g = 0; g < shape.groups(); ++g) {
      visit(g, [&](auto const& what, auto const& weight, auto const&) {
        initialise(what, seed, weight);
        parameters_ += weight.size();
      });
      auto& copies = groups_[index(g)]->copies;
      for (parameter_copy& other : copies)
        std::ranges::copy(copies[0].weights.span(), other.weights.data());
    }
    losses_.assign(index(shape.micro_batches), 0.0);
  }

  config const& shape() const { return shape_; }
  bool is_sharded() const { return site_.sharded; }
  // Number of parameters of the whole model.
  std::size_t parameters() const { return parameters_; }

  // The tokens of the next step. Throws std::invalid_argument unless there are as many as the shape
  // says.
  void set_batch(gpt::batch tokens) {
    auto const expected = static_cast<std::size_t>(shape_.tokens());
    if (tokens.inputs.size() != expected || tokens.targets.size() != expected) {
      throw std::invalid_argument("a batch of this model has " + std::to_string(expected)
                                  + " tokens, not " + std::to_string(tokens.inputs.size()));
    }
    batch_ = std::move(tokens);
  }

  // After a step: the loss of every micro-batch, mean over its tokens, in nats.
  std::span<double const> losses() const { return losses_; }
  // Their mean.
  double loss() const {
    double total = 0;
    for (double const loss : losses_) total += loss;
    return total / static_cast<double>(losses_.size());
  }

  // How many copies there are of a group.
  int copies(int group) const { return static_cast<int>(groups_.at(index(group))->copies.size()); }
  // Whether all copies have the same bits.
  bool copies_agree() const {
    for (auto const& g : groups_)
      for (parameter_copy const& c : g->copies)
        for (auto const values : {&parameter_copy::weights, &parameter_copy::gradient})
          if (std::memcmp((c.*values).data(), (g->copies[0].*values).data(),
                          (c.*values).span().size_bytes())
              != 0)
            return false;
    return true;
  }
  // All parameters of a group, tensor after tensor; between them up to a cache line of zeros. Sharded,
  // only this rank's part() of them is kept up.
  std::span<Scalar> weights(int group, int copy = 0) { return copy_of(group, copy).weights.span(); }
  std::span<Scalar const> weights(int group, int copy = 0) const {
    return copy_of(group, copy).weights.span();
  }
  // After a step: the gradient of the mean loss, in the same layout.
  std::span<Scalar const> gradient(int group, int copy = 0) const {
    return copy_of(group, copy).gradient.span();
  }
  // What of them this rank keeps: of what is tied, and without sharding, all.
  template <class Value>
  std::span<Value> part(int group, std::span<Value> all) const {
    if (!site_.sharded || group >= shape_.stages) return all;
    ashlar::byte_range const mine = ashlar::shard_of(all.size_bytes(), site_.rank, shape_.data_ranks);
    return all.subspan(mine.begin / sizeof(Scalar), mine.size / sizeof(Scalar));
  }

  // Calls f(tensor_description, matrix<Scalar> weight, matrix<Scalar> gradient) for each tensor of a
  // group, of its first copy.
  template <class F>
  void visit(int group, F&& f) {
    parameter_copy& own = copy_of(group, 0);
    auto const show = [&](auto const& what, matrix<Scalar> const& weight) {
      auto gradient = weight;
      gradient.data = own.gradient.data() + (weight.data - own.weights.data());
      f(what, weight, gradient);
    };
    if (group < shape_.stages)
      parameters_of(at(group), own.weights.data(), matrix<Scalar>()).visit(at(group).shape, show);
    else
      show(tensor_description{"embedding.tokens", 0, head_deviation(shape_)},
           tied_matrix(own.weights.data()));
  }

  // --- Optimizer
  // ---------------------------------------------------------------------------------------------

  // The Euclidean norm of the whole model's gradient; unless it is tied, the same bits for any number of
  // stages.
  double gradient_norm() {
    double total = 0;
    for (int g = 0; g < shape_.groups(); ++g) {
      visit(g, [&](auto const&, auto const&, auto const& gradient) {
        double squares = 0;
        for (int row = 0; row < gradient.rows; ++row) {
          squares +=
              static_cast<double>(dot<Scalar>(gradient.row(row), gradient.row(row), gradient.cols));
        }
        total += squares;
      });
    }
    return std::sqrt(total);
  }

  // Of a sharded gradient: the sum of the squares of what only this rank has, or is the first to have.
  double squares_of_shards() const {
    double total = 0;
    for (int g = 0; g < (site_.rank == 0 ? shape_.groups() : shape_.stages); ++g) {
      auto const mine = part(g, gradient(g));
      total += static_cast<double>(dot<Scalar>(mine.data(), mine.data(), static_cast<int>(mine.size())));
    }
    return total;
  }

  // One Adam step on one group, the same on each copy. Different groups may be updated at the same time.
  void update(int group, adam_options const& options, double scale) {
    int const step = ++groups_.at(index(group))->steps;
    for (parameter_copy& c : groups_[index(group)]->copies)
      adam_step<Scalar>(options, step, scale, part(group, c.weights.span()),
                        part(group, std::as_const(c.gradient).span()),
                        part(group, c.first_moment.span()), part(group, c.second_moment.span()));
  }

  // --- What the engine calls
  // -----------------------------------------------------------------------------------

  // What a slot holds of a stage or group; 0 bytes where the stage has nothing to keep there.
  ashlar::value_layout layout(ashlar::value_key key) const {
    return {bytes(key.kind, key.of), 64,
            sizeof(Scalar) == sizeof(float) ? ashlar::element_type::f32 : ashlar::element_type::f64};
  }
  std::size_t bytes(ashlar::slot_kind kind, int stage) const {
    if (stage >= shape_.stages) return weights(stage).size_bytes();
    auto const& shape = at(stage).shape;
    auto const activation =
        static_cast<std::size_t>(shape.model.rows()) * static_cast<std::size_t>(shape.model.width);
    switch (kind) {
      case ashlar::slot_kind::activation:
      case ashlar::slot_kind::gradient:
        return activation * sizeof(Scalar);
      case ashlar::slot_kind::checkpoint:
        return shape.first ? 0 : activation * sizeof(Scalar);
      case ashlar::slot_kind::stash:
        return at(stage).stash_size * sizeof(Scalar);
      case ashlar::slot_kind::weight_stash:
        return at(stage).weight_stash_size * sizeof(Scalar);
      case ashlar::slot_kind::weight_gradient:
      case ashlar::slot_kind::weight:
      case ashlar::slot_kind::gradient_shard:
        return weights(stage).size_bytes();
      case ashlar::slot_kind::scalar:
      case ashlar::slot_kind::work:  // it has none
      case ashlar::slot_kind::work_state:
        break;
    }
    return 0;
  }

  void forward(auto&, ashlar::frame const& f) {
    auto const& shape = at(f.what.stage).shape;
    Scalar const* const input = shape.first ? nullptr : data(f.inputs[0]);
    if (!f.checkpoint.empty() && input != nullptr) {
      std::copy_n(input, activation_size(), data(f.checkpoint));
    }
    double const loss = run_forward(f, input, shape.last ? nullptr : data(f.outputs[0]));
    if (shape.last) losses_[static_cast<std::size_t>(f.what.micro_batch)] = loss;
  }

  void recompute(auto&, ashlar::frame const& f) {
    run_forward(f, at(f.what.stage).shape.first ? nullptr : data(f.checkpoint), nullptr);
  }

  // Needs no weight stash: the working memory at the end of the stash is enough.
  void backward(auto&, ashlar::frame const& f) {
    state const& s = at(f.what.stage);
    stage_stash<Scalar> const stash = laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size);
    run_backward(f, {true, true}, stash, stash.gradients);
  }

  void backward_input(auto&, ashlar::frame const& f) { run_split(f, {true, false}); }
  void backward_weight(auto&, ashlar::frame const& f) { run_split(f, {false, true}); }

  // Remembers the complete gradient of a group, or this rank's shard. The replicas of a stage may all
  // call it: their gradients are equal.
  void reduced(auto&, ashlar::parameter_frame const& f) {
    auto& g = *groups_.at(index(f.group));
    std::lock_guard const lock(g.writing);
    parameter_copy& own = g.copies[g.copies.size() == 1 ? 0 : index(f.site.replica)];
    auto const mine = part(f.group, own.gradient.span());
    std::copy_n(data(f.gradient), mine.size(), mine.data());
  }

  // This rank's shard of the weights of a stage.
  ashlar::buffer shard(int stage, int) { return std::as_writable_bytes(part(stage, weights(stage))); }

 private:
  struct state {
    explicit state(stage_shape const& s)
        : shape(s),
          stash_size(elements_of<stage_stash<Scalar>, Scalar>(s)),
          weight_stash_size(elements_of<stage_gradients<Scalar>, Scalar>(s)) {}

    stage_shape shape;
    std::size_t stash_size;         // elements
    std::size_t weight_stash_size;  // elements
  };

  struct parameter_copy {
    explicit parameter_copy(std::size_t size)
        : weights(size), gradient(size), first_moment(size), second_moment(size) {}

    array<Scalar> weights;
    array<Scalar> gradient;
    array<Scalar> first_moment;
    array<Scalar> second_moment;
  };
  struct parameter_group {
    parameter_group(std::size_t count, std::size_t size) {
      for (std::size_t i = 0; i < count; ++i) copies.emplace_back(size);
    }

    std::vector<parameter_copy> copies;
    int steps = 0;
    std::mutex writing;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  state const& at(int stage) const { return stages_.at(index(stage)); }
  parameter_copy& copy_of(int group, int number) const {
    return groups_.at(index(group))->copies.at(index(number));
  }

  std::size_t activation_size() const {
    return static_cast<std::size_t>(shape_.rows()) * static_cast<std::size_t>(shape_.width);
  }

  static Scalar* data(ashlar::buffer const& bytes) { return reinterpret_cast<Scalar*>(bytes.data()); }

  template <class Value>
  static stage_parameters<Value> parameters_of(state const& s, Value* values,
                                               matrix<Value> const& tied) {
    carver<Value> from(values);
    return {from, s.shape, tied};
  }

  template <class Value>
  matrix<Value> tied_matrix(Value* values) const {
    return {values, vocabulary, shape_.width, shape_.width};
  }

  // What the passes of a frame compute with: of a tied matrix the copy of their device.
  stage_parameters<Scalar const> weights_for(ashlar::frame const& f) const {
    int const stage = f.what.stage;
    matrix<Scalar const> tied;
    if (shape_.tied) {
      auto const holder = std::ranges::find(site_.holders, f.site.device);
      if (holder != site_.holders.end())
        tied =
            tied_matrix(weights(shape_.stages, static_cast<int>(holder - site_.holders.begin())).data());
    }
    return parameters_of<Scalar const>(at(stage),
                                       f.weight.empty() ? weights(stage).data() : data(f.weight), tied);
  }

  // A slot as the group of matrices it holds. Throws std::length_error if it is too small for them.
  template <class Layout>
  static Layout laid_out(state const& s, ashlar::buffer slot, std::size_t size) {
    if (slot.size() < size * sizeof(Scalar)) {
      throw std::length_error("stage " + std::to_string(s.shape.stage) + " needs a slot of "
                              + std::to_string(size * sizeof(Scalar)) + " bytes, not "
                              + std::to_string(slot.size()));
    }
    carver<Scalar> from(data(slot));
    return Layout(from, s.shape);
  }

  std::span<token const> tokens(std::vector<token> const& all, int micro_batch) const {
    auto const size = static_cast<std::size_t>(shape_.rows());
    return std::span(all).subspan(static_cast<std::size_t>(micro_batch) * size, size);
  }

  double run_forward(ashlar::frame const& f, Scalar const* input, Scalar* output) {
    state const& s = at(f.what.stage);
    auto const stash = laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size);
    return stage_forward<Scalar>(s.shape, weights_for(f), stash,
                                 tokens(batch_.inputs, f.what.micro_batch),
                                 tokens(batch_.targets, f.what.micro_batch), input, output);
  }

  void run_split(ashlar::frame const& f, backward_parts parts) {
    state const& s = at(f.what.stage);
    run_backward(f, parts, laid_out<stage_stash<Scalar>>(s, f.stash, s.stash_size),
                 laid_out<stage_gradients<Scalar>>(s, f.weight_stash, s.weight_stash_size));
  }

  void run_backward(ashlar::frame const& f, backward_parts parts, stage_stash<Scalar> const& stash,
                    stage_gradients<Scalar> const& gradients) {
    state const& s = at(f.what.stage);
    bool const up = parts.input && !s.shape.last;
    bool const down = parts.input && !s.shape.first;
    matrix<Scalar> const tied =
        f.shared_gradients.empty() ? matrix<Scalar>() : tied_matrix(data(f.shared_gradients[0]));
    stage_backward<Scalar>(
        s.shape, parts, weights_for(f), stash, gradients, tokens(batch_.inputs, f.what.micro_batch),
        tokens(batch_.targets, f.what.micro_batch), up ? data(f.inputs[0]) : nullptr,
        down ? data(f.outputs[0]) : nullptr, parameters_of<Scalar>(s, data(f.weight_gradient), tied));
  }

  config shape_;
  worker_site site_;
  std::vector<state> stages_;
  std::vector<std::unique_ptr<parameter_group>> groups_;
  std::size_t parameters_ = 0;
  gpt::batch batch_;
  std::vector<double> losses_;
};

// The Euclidean norm of the gradient of a model that data-parallel ranks train together, a worker each.
template <class Scalar>
double gradient_norm(std::vector<worker<Scalar>*> const& ranks) {
  if (!ranks[0]->is_sharded()) return ranks[0]->gradient_norm();
  double total = 0;
  for (worker<Scalar> const* w : ranks) total += w->squares_of_shards();
  return std::sqrt(total);
}

// One Adam step of all ranks.
template <class Scalar>
void update(std::vector<worker<Scalar>*> const& ranks, adam_options const& options) {
  double const scale = options.scale_for(gradient_norm(ranks));
  for (worker<Scalar>* w : ranks)
    for (int g = 0; g < w->shape().groups(); ++g) w->update(g, options, scale);
}

}  // namespace gpt
