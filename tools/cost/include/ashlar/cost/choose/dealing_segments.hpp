// The pieces of a model that may be a stage, with their times and memory.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/passes.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace ashlar::cost::dealing_detail {

inline constexpr double nothing = std::numeric_limits<double>::infinity();

// Parts `first` to `end` of the chain, as a stage.
struct segment {
  int first, end;
  stage has;
  stage_passes passes;
  stage_needs needs;
  double seconds = 0;  // of a micro-batch, both ways
  double bytes = 0;    // held by its device, without activations
};

// Every segment that may be a stage of a division no slower than `enough`, on devices of one kind.
class segments {
 public:
  // Throws unpredictable.
  segments(question const& q, constants const& c, double enough) : chain_(q.model, q.layout) {
    for (stage_passes const& each : passes_of(q, chain_.single_parts(), c))
      least_.push_back(each.forward.on_device() + each.backward.on_device());
    double const n = q.micro_batches();
    std::vector<stage> all;
    for (int i = 0; i < parts(); ++i) {
      begin_.push_back(static_cast<int>(all_.size()));
      double sum = 0;
      for (int j = i + 1; j <= parts(); ++j) {
        sum += least_[static_cast<std::size_t>(j) - 1];
        if (n * sum > enough && j > i + 1) break;
        all_.push_back({.first = i, .end = j, .has = chain_.stage_of(i, j), .passes = {}, .needs = {}});
        all.push_back(all_.back().has);
      }
    }
    begin_.push_back(static_cast<int>(all_.size()));
    std::vector<stage_passes> const passes = passes_of(q, all, c);
    std::vector<stage_needs> const needs = needs_of(q, all, false, c);
    for (std::size_t k = 0; k < all_.size(); ++k) {
      all_[k].passes = passes[k];
      all_[k].needs = needs[k];
      all_[k].seconds = passes[k].seconds();
      all_[k].bytes = memory_of_device(q, needs[k], 0, 1, c).all();
    }
  }

  part_chain const& chain() const { return chain_; }
  int parts() const { return chain_.count(); }
  // Seconds of each part, without the host's excess.
  std::vector<double> const& least() const { return least_; }
  std::vector<segment> const& all() const { return all_; }
  // nullptr if it is too long.
  segment const* find(int first, int end) const {
    int const at = begin_[static_cast<std::size_t>(first)] + end - first - 1;
    return at < begin_[static_cast<std::size_t>(first) + 1] ? &all_[static_cast<std::size_t>(at)]
                                                            : nullptr;
  }

 private:
  part_chain chain_;
  std::vector<segment> all_;
  std::vector<int> begin_;  // of the segments with that first part
  std::vector<double> least_;
};

}  // namespace ashlar::cost::dealing_detail
