// Collects pipelines that pairs may make fast: those with large exchanges between expert ranks.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/ranked_layout.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::cost::layouts_detail {

// The few pipelines that would be fastest if passes hid as much of the exchange as they compute, each
// with other ranks or micro-batches; fastest first.
class layouts_for_pairs {
 public:
  // Seconds of a step if pairs hide all that they can.
  static double seconds_of(question const& q, step_terms const& step) {
    if (q.layout.pipeline == 1 || q.layout.expert == 1) return step.seconds;
    double hidden = 0;
    for (std::size_t s = 0; s < step.of_stages.size(); ++s) {
      pass_terms const &f = step.of_stages[s].forward, &b = step.of_stages[s].backward;
      double const moves = f.expert + b.expert;
      hidden += step.micro_batches[s] * min_of(moves, f.on_device() + b.on_device() - moves);
    }
    return step.seconds - hidden;
  }

  // Whether a layout with this time belongs to them.
  bool have_room_for(double seconds) const {
    return all_.size() < most || seconds < all_.back().seconds;
  }

  // Adds a layout. It replaces a slower one of the same ranks and micro-batches.
  void keep(ranked_layout layout, double seconds) {
    for (auto at = all_.begin(); at != all_.end(); ++at) {
      if (!are_alike(at->layout.asked, layout.asked)) continue;
      if (at->seconds <= seconds) return;
      all_.erase(at);
      break;
    }
    auto at = all_.end();
    while (at != all_.begin() && seconds < at[-1].seconds) --at;
    all_.insert(at, {std::move(layout), seconds});
    if (all_.size() > most) all_.pop_back();
  }

  // The layouts, without their seconds.
  std::vector<ranked_layout> layouts() const {
    std::vector<ranked_layout> found;
    for (entry const& each : all_) found.push_back(each.layout);
    return found;
  }

 private:
  struct entry {
    ranked_layout layout;
    double seconds = 0;
  };

  static constexpr std::size_t most = 4;

  static bool are_alike(question const& a, question const& b) {
    return a.layout.tensor == b.layout.tensor && a.layout.pipeline == b.layout.pipeline
           && a.layout.context == b.layout.context && a.layout.expert == b.layout.expert
           && a.layout.expert_tensor == b.layout.expert_tensor
           && a.layout.micro_batch == b.layout.micro_batch && a.program.format == b.program.format;
  }

  std::vector<entry> all_;
};

}  // namespace ashlar::cost::layouts_detail
