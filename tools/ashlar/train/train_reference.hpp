// Repeats the step on one device of the host, one pass after another, and compares: bit by bit, or
// within a tolerance.
#pragma once

#include "train/train_numbers.hpp"
#include "train/train_team.hpp"
#include <ashlar/run/sequential.hpp>

#include <fmt/core.h>
#include <gpt/finite.hpp>
#include <gpt/worker.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool {

// The whole model of all ranks, on the process that leads; elsewhere nothing. All processes call all of
// this.
template <class Scalar>
class train_reference {
 public:
  using worker = gpt::worker<Scalar>;

  train_reference(training const& t, team<Scalar>& all) : t_(&t), all_(&all) {}

  void set_loss_scale(double scale) { loss_scale_ = scale; }

  // The training's program is another one from now on.
  void adopt() { passes_.reset(); }

  // Call it before a step that difference() is asked about: a program's own step changes the weights.
  void take_weights() {
    make_workers();
    for (int rank = 0; rank < t_->shape.data_ranks; ++rank)
      for (int g = 0; g < t_->shape.groups(); ++g)
        for (int copy = 0; copy < copies(g); ++copy) {
          auto const values =
              received(rank, g, copy, [g](worker const& w, int c) { return w.weights(g, c); });
          if (all_->leads())
            std::copy(values.begin(), values.end(), workers_[at(rank)]->weights(g, copy).begin());
        }
  }

  // The first difference after a step on the batches from number `batch` on, or an empty text.
  std::string difference(step_numbers const& numbers, std::uint64_t batch) {
    gradients found;
    std::string said = collect(found);
    set_batches(batch);
    if (all_->leads() && said.empty())
      all_->work([&] {
        ashlar::sequential(*passes_, list()).run();
        for (int rank = 0; rank < t_->shape.data_ranks && said.empty(); ++rank) {
          said = difference_of(numbers.losses[at(rank)], found[at(rank)], *workers_[at(rank)]);
          if (!said.empty() && t_->shape.data_ranks > 1) said = fmt::format("rank {}: {}", rank, said);
        }
      });
    return all_->gather_texts(said)[0];
  }

  // The place of the first number that is not finite, in a step with the weights of now; for the process
  // that leads.
  std::optional<typename gpt::finite_watch<Scalar>::place> first_non_finite(std::uint64_t batch) {
    take_weights();
    set_batches(batch);
    std::optional<typename gpt::finite_watch<Scalar>::place> first;
    if (all_->leads()) all_->work([&] { first = gpt::first_non_finite(*passes_, list()); });
    return first;
  }

 private:
  using gradients = std::vector<std::vector<std::vector<Scalar>>>;  // by rank and group

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int copies(int group) const { return all_->workers().front()->copies(group); }

  // The values of a group's holder: `of(worker, copy)` where it is, then everywhere.
  template <class Of>
  std::vector<Scalar> received(int rank, int group, int holder, Of of) {
    worker const& any = *all_->workers().front();
    std::vector<Scalar> values(any.elements(group), Scalar{});
    if (all_->is_here(rank, t_->program.groups.holders(group)[at(holder)])) {
      std::span<Scalar const> const mine = of(*all_->of(rank), any.copy_for(group, holder));
      std::copy(mine.begin(), mine.end(), values.begin());
    }
    all_->unite(values);
    return values;
  }

  // Collects all gradients; says if holders of a group do not agree about it or its weights.
  std::string collect(gradients& found) {
    std::string said;
    for (int rank = 0; rank < t_->shape.data_ranks; ++rank) {
      auto& of_rank = found.emplace_back();
      for (int g = 0; g < t_->shape.groups(); ++g) {
        auto const all_holders = [&](auto of) {
          std::vector<Scalar> first = received(rank, g, 0, of);
          for (int h = 1; h < static_cast<int>(t_->program.groups.holders(g).size()); ++h)
            if (auto const other = received(rank, g, h, of);
                !first.empty()
                && std::memcmp(first.data(), other.data(), first.size() * sizeof(Scalar)) != 0)
              said = fmt::format("the copies of {} differ", name_of_group(g));
          return first;
        };
        all_holders([g](worker const& w, int copy) { return w.weights(g, copy); });
        of_rank.push_back(all_holders([g](worker const& w, int copy) { return w.gradient(g, copy); }));
      }
    }
    return said;
  }

  void make_workers() {
    if (!all_->leads()) return;
    if (!passes_) passes_ = passes_of(*t_);
    if (workers_.empty())
      for (int rank = 0; rank < t_->shape.data_ranks; ++rank)
        workers_.push_back(std::make_unique<worker>(t_->shape, t_->options->seed,
                                                    gpt::site_in(t_->program, rank), t_->values()));
  }
  void set_batches(std::uint64_t batch) {
    if (!all_->leads()) return;
    for (int rank = 0; rank < t_->shape.data_ranks; ++rank) {
      workers_[at(rank)]->set_loss_scale(loss_scale_);
      workers_[at(rank)]->set_batch(batch_at(*t_, t_->text.training(), batch + at(rank)));
    }
  }
  std::vector<worker*> list() const {
    std::vector<worker*> all;
    for (auto const& w : workers_) all.push_back(w.get());
    return all;
  }

  std::string difference_of(std::vector<double> const& losses,
                            std::vector<std::vector<Scalar>> const& found, worker const& w) const {
    for (std::size_t k = 0; k < losses.size(); ++k)
      if (!agree(losses[k], w.losses()[k], w.losses()[k]))
        return fmt::format(
            "the loss of micro-batch {} is {:.17g} in the pipeline and {:.17g} sequentially", k,
            losses[k], w.losses()[k]);
    for (int g = 0; g < t_->shape.groups(); ++g) {
      double largest = 0;
      for (Scalar const x : w.gradient(g)) largest = std::max(largest, std::abs(static_cast<double>(x)));
      for (std::size_t i = 0; i < found[at(g)].size(); ++i)
        if (double const a = found[at(g)][i], b = w.gradient(g)[i]; !agree(a, b, largest))
          return fmt::format("gradient {} of {} is {:.17g} in the pipeline and {:.17g} sequentially", i,
                             name_of_group(g), a, b);
    }
    return {};
  }
  std::string name_of_group(int g) const {
    return g < t_->shape.stages ? fmt::format("stage {}", g) : "the tied embedding";
  }

  // Whether a number is near enough to the host's, in a set whose largest is `largest`.
  bool agree(double a, double b, double largest) const {
    if (all_->tolerance() > 0) return std::abs(a - b) <= all_->tolerance() * std::abs(largest);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }

  training const* t_;
  team<Scalar>* all_;
  double loss_scale_ = 1;
  std::optional<ashlar::proved_program> passes_;
  std::vector<std::unique_ptr<worker>> workers_;  // by rank
};

}  // namespace tool
