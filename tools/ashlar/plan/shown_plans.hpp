// Which plans may still be shown, when better ones are known.
#pragma once

#include "plan/predicted_plan.hpp"
#include <ashlar/cost/step/step_bound.hpp>

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tool {

// The plans that will be shown.
struct shown_plans {
  std::size_t most = 0;
  // The value that the study minimises, for a step of these seconds.
  std::function<double(ashlar::cost::question const&, double)> objective;
  // Whether a plan may be among them.
  std::function<bool(predicted_plan const&)> may_be_shown;
};

// Tells which plans cannot be shown any more.
class bound_of_shown {
 public:
  // Refers to `shown`; null: all may be shown. `known` are plans that were found before.
  bound_of_shown(shown_plans const* shown, std::vector<predicted_plan> const& known);

  // The least that the study may make of the question, in any order of its passes; 0: not known.
  double least_of(ashlar::cost::question const& q, ashlar::cost::schedule_traits const& traits,
                  ashlar::cost::constants const& c) const;
  // Whether as many plans as are shown are better.
  bool is_exceeded_by(double least) const;
  // Counts a plan that was found, once.
  void count(predicted_plan const& p);

 private:
  shown_plans const* shown_;
  std::vector<double> best_;  // the lowest, at most as many as are shown
  std::set<std::string> counted_;
};

}  // namespace tool
