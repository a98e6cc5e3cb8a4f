#include "plan/shown_plans.hpp"

#include <ashlar/core/refuse.hpp>
#include <ashlar/cost/question/stage_layout.hpp>

#include <algorithm>

namespace tool {

bound_of_shown::bound_of_shown(shown_plans const* shown, std::vector<predicted_plan> const& known)
    : shown_(shown) {
  for (predicted_plan const& each : known) count(each);
}

double bound_of_shown::least_of(ashlar::cost::question const& q,
                                ashlar::cost::schedule_traits const& traits,
                                ashlar::cost::constants const& c) const {
  if (shown_ == nullptr) return 0;
  try {
    return shown_->objective(q, least_step_seconds(q, stages_of(q), traits, c));
  } catch (ashlar::cost::unpredictable const&) {  // the answer says why
  } catch (ashlar::violation const&) {
  }
  return 0;
}

bool bound_of_shown::is_exceeded_by(double least) const {
  return shown_ != nullptr && !best_.empty() && best_.size() == shown_->most && least > best_.back();
}

void bound_of_shown::count(predicted_plan const& p) {
  if (shown_ == nullptr || !shown_->may_be_shown(p) || !counted_.insert(options_of(p.run)).second)
    return;
  double const found = shown_->objective(p.run.asked, p.run.answer.step.seconds);
  best_.insert(std::upper_bound(best_.begin(), best_.end(), found), found);
  if (best_.size() > shown_->most) best_.pop_back();
}

}  // namespace tool
