// The parameters of a model as one data-parallel rank keeps them: weights, gradients, optimizer.
#pragma once

#include "adam.hpp"
#include "config.hpp"
#include "exact_sum.hpp"
#include "head_shard.hpp"
#include "initial.hpp"
#include "stage.hpp"
#include "tensor.hpp"
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
#include <utility>
#include <vector>

namespace gpt {

// The place of a worker in a program, whose last group holds what is tied.
struct worker_site {
  int rank = 0;                    // data-parallel
  bool sharded = false;            // does it keep no more than its shard of what a stage has for itself?
  std::vector<int> holders = {0};  // devices with a copy of what is tied
  std::vector<bool> held = {};     // by group: is it kept here? empty: all are
};

// The site of a worker for those devices of a rank for which here(device) holds.
template <class Here>
worker_site site_in(ashlar::program const& p, int rank, Here here) {
  ashlar::list_view<int> const tied = p.groups.holders(p.groups.count() - 1);
  worker_site site{rank, p.sharding != ashlar::sharding_level::none, {tied.begin(), tied.end()}, {}};
  for (int g = 0; g < p.groups.count(); ++g) {
    ashlar::list_view<int> const holders = p.groups.holders(g);
    site.held.push_back(std::any_of(holders.begin(), holders.end(), here));
  }
  return site;
}
inline worker_site site_in(ashlar::program const& p, int rank) {
  return site_in(p, rank, [](int) { return true; });
}

// The replicas of a stage share one memory of its parameters. A group holds a stage's own parameters or,
// after the stages, the tied ones.
template <class Scalar>
class model_parameters {
 public:
  // Throws std::invalid_argument if there is no such model.
  model_parameters(config const& shape, std::uint64_t seed, worker_site site = {})
      : shape_(shape), site_(std::move(site)) {
    require_valid(shape);
    for (int i = 0; i < shape.stages; ++i) {
      stages_.emplace_back(shape_of(shape, i));
      groups_.push_back(std::make_unique<parameter_group>(
          1, elements_of<stage_parameters<Scalar>, Scalar>(at(i).shape), holds(i)));
    }
    if (shape.tied) {
      carver<Scalar> measure;
      tied_ends<Scalar>::carved(measure, shape);
      groups_.push_back(
          std::make_unique<parameter_group>(site_.holders.size(), measure.used(), holds(shape.stages)));
    }
    for (int g = 0; g < shape.groups(); ++g) {
      visit(g, [&](auto const& what, auto const& weight, auto const&) {
        if (holds(g)) initialise(what, seed, weight);
        parameters_ += weight.size();
      });
      auto& copies = groups_[index(g)]->copies;
      for (parameter_copy& other : copies)
        std::ranges::copy(copies[0].weights.span(), other.weights.data());
    }
  }

  config const& shape() const { return shape_; }
  bool is_sharded() const { return site_.sharded; }
  // Number of parameters of the whole model.
  std::size_t parameters() const { return parameters_; }

  // Whether the group is kept here; all spans of one that is not are empty.
  bool holds(int group) const { return site_.held.empty() || site_.held.at(index(group)); }
  // Elements of a group, wherever it is kept.
  std::size_t elements(int group) const { return groups_.at(index(group))->size; }
  // The number of copies of a group.
  int copies(int group) const { return static_cast<int>(groups_.at(index(group))->copies.size()); }
  // Whether all copies have the same bits.
  bool copies_agree() const {
    for (auto const& g : groups_)
      for (parameter_copy const& c : g->copies)
        for (auto const values : {&parameter_copy::weights, &parameter_copy::gradient})
          if (std::size_t const size = (c.*values).span().size_bytes();
              size > 0 && std::memcmp((c.*values).data(), (g->copies[0].*values).data(), size) != 0)
            return false;
    return true;
  }
  // All parameters of a group, tensor after tensor; between them up to a cache line of zeros. Sharded,
  // only this rank's part() of them is kept up.
  std::span<Scalar> weights(int group, int copy = 0) { return copy_of(group, copy).weights.span(); }
  std::span<Scalar const> weights(int group, int copy = 0) const {
    return copy_of(group, copy).weights.span();
  }
  // The gradient of the mean loss after a step, in the same layout.
  std::span<Scalar const> gradient(int group, int copy = 0) const {
    return copy_of(group, copy).gradient.span();
  }
  // The copy that a group's holder, by its number among them, computes with.
  int copy_for(int group, int holder) const { return copies(group) == 1 ? 0 : holder; }
  // The optimizer's state of a group, in the same layout, and how many steps it has made.
  std::span<Scalar> first_moment(int group, int copy = 0) {
    return copy_of(group, copy).first_moment.span();
  }
  std::span<Scalar> second_moment(int group, int copy = 0) {
    return copy_of(group, copy).second_moment.span();
  }
  int updates(int group) const { return groups_.at(index(group))->steps; }
  void set_updates(int group, int steps) { groups_.at(index(group))->steps = steps; }
  // The part of them that this rank keeps: all if the group is tied or nothing is sharded.
  template <class Value>
  std::span<Value> part(int group, std::span<Value> all) const {
    if (!site_.sharded || group >= shape_.stages) return all;
    ashlar::byte_range const mine = ashlar::shard_of(all.size_bytes(), site_.rank, shape_.data_ranks);
    return all.subspan(mine.begin / sizeof(Scalar), mine.size / sizeof(Scalar));
  }

  // Calls f(tensor_description, matrix<Scalar> weight, matrix<Scalar> gradient) for each tensor of a
  // group, of its first copy; where it is not kept, both are null.
  template <class F>
  void visit(int group, F&& f) {
    parameter_copy& own = copy_of(group, 0);
    auto const show = [&](auto const& what, matrix<Scalar> const& weight) {
      auto gradient = weight;
      gradient.data = own.gradient.data() + (weight.data - own.weights.data());
      f(what, weight, gradient);
    };
    if (group < shape_.stages)
      parameters_of(at(group), own.weights.data(), {}).visit(at(group).shape, show);
    else
      tied_ends_at(own.weights.data()).visit(shape_, show);
  }

  // The sum of the squares of this rank's part of a group's gradient. Each square counts once over all
  // ranks: if a group is kept whole though others are sharded, the first rank counts it. Zero where the
  // group is not kept.
  exact_sum squares(int group) const {
    exact_sum sum;
    bool const counts = !site_.sharded || group < shape_.stages || site_.rank == 0;
    if (counts && holds(group)) sum.add_squares(part(group, gradient(group)));
    return sum;
  }

  // Makes one Adam step on one group, the same on each copy. Different groups may be updated at the same
  // time.
  void update(int group, adam_options const& options, double scale) {
    int const step = ++groups_.at(index(group))->steps;
    for (int copy = 0; copy < copies(group); ++copy) update_copy(group, copy, options, step, scale);
  }
  // Makes it on one copy, as step number `step` of the group, which it does not count.
  void update_copy(int group, int copy, adam_options const& options, int step, double scale) {
    std::lock_guard const lock(groups_.at(index(group))->writing);
    parameter_copy& c = copy_of(group, copy);
    adam_step<Scalar>(options, step, scale, part(group, c.weights.span()),
                      part(group, std::as_const(c.gradient).span()), part(group, c.first_moment.span()),
                      part(group, c.second_moment.span()));
  }

  // Remembers the complete gradient of a group, or this rank's shard. The replicas of a stage may all
  // call it: their gradients are equal.
  void reduced(auto&, ashlar::parameter_frame const& f) {
    auto& g = *groups_.at(index(f.group));
    std::lock_guard const lock(g.writing);
    parameter_copy& own = g.copies[index(copy_for(f.group, f.site.replica))];
    auto const mine = part(f.group, own.gradient.span());
    std::copy_n(data(f.gradient), mine.size(), mine.data());
  }

  // This rank's shard of the weights of a stage.
  ashlar::buffer shard(int stage, int) { return std::as_writable_bytes(part(stage, weights(stage))); }

 protected:
  // A stage on one micro-batch.
  struct sized_stage {
    explicit sized_stage(stage_shape const& s) : shape(s), input_size(stream_size(s)) {
      if (s.is_input_shard()) {
        weight_stash_size = input_size;  // the gradient, for a backward in two parts
      } else if (s.is_shard()) {
        stash_size = elements_of<shard_stash<Scalar>, Scalar>(s);
        weight_stash_size = elements_of<shard_gradients<Scalar>, Scalar>(s);
        output_size = elements_of<shard_statistics<Scalar>, Scalar>(s);
        if (s.model.early) gradient_size = elements_of<early_gradient<Scalar>, Scalar>(s);
      } else {
        stash_size = elements_of<stage_stash<Scalar>, Scalar>(s);
        weight_stash_size = elements_of<stage_gradients<Scalar>, Scalar>(s);
      }
    }

    stage_shape shape;
    // Elements.
    std::size_t input_size;
    std::size_t output_size = input_size;    // of the activation
    std::size_t gradient_size = input_size;  // of what goes back to the stage before
    std::size_t stash_size = 0;
    std::size_t weight_stash_size = 0;

   private:
    static std::size_t stream_size(stage_shape const& s) {
      return static_cast<std::size_t>(s.model.rows()) * static_cast<std::size_t>(s.model.width);
    }
  };
  struct state : sized_stage {
    explicit state(stage_shape const& s) : sized_stage(s), last(on_last(s)) {}

    sized_stage const& on(int micro_batch) const {
      return micro_batch == this->shape.model.micro_batches - 1 ? last : *this;
    }

    sized_stage last;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  state const& at(int stage) const { return stages_.at(index(stage)); }

  static Scalar* data(ashlar::buffer const& bytes) { return reinterpret_cast<Scalar*>(bytes.data()); }

  template <class Value>
  static stage_parameters<Value> parameters_of(sized_stage const& s, Value* values,
                                               tied_ends<Value> const& tied) {
    carver<Value> from(values);
    return {from, s.shape, tied};
  }

  template <class Value>
  tied_ends<Value> tied_ends_at(Value* values) const {
    carver<Value> from(values);
    return tied_ends<Value>::carved(from, shape_);
  }

  // The parameters that the passes of a frame use: of a tied matrix, the copy of their device.
  stage_parameters<Scalar const> weights_for(ashlar::frame const& f) const {
    int const stage = f.what.stage;
    tied_ends<Scalar const> tied;
    if (shape_.tied) {
      auto const holder = std::ranges::find(site_.holders, f.site.device);
      if (holder != site_.holders.end())
        tied = tied_ends_at<Scalar const>(
            weights(shape_.stages, static_cast<int>(holder - site_.holders.begin())).data());
    }
    return parameters_of<Scalar const>(at(stage),
                                       f.weight.empty() ? weights(stage).data() : data(f.weight), tied);
  }

 private:
  struct parameter_copy {
    explicit parameter_copy(std::size_t size)
        : weights(size), gradient(size), first_moment(size), second_moment(size) {}

    array<Scalar> weights;
    array<Scalar> gradient;
    array<Scalar> first_moment;
    array<Scalar> second_moment;
  };
  struct parameter_group {
    parameter_group(std::size_t count, std::size_t elements, bool held) : size(elements) {
      for (std::size_t i = 0; i < count; ++i) copies.emplace_back(held ? size : 0);
    }

    std::size_t size;
    std::vector<parameter_copy> copies;
    int steps = 0;
    std::mutex writing;
  };

  parameter_copy& copy_of(int group, int number) const {
    return groups_.at(index(group))->copies.at(index(number));
  }

  config shape_;
  worker_site site_;
  std::vector<state> stages_;
  std::vector<std::unique_ptr<parameter_group>> groups_;
  std::size_t parameters_ = 0;
};

}  // namespace gpt
