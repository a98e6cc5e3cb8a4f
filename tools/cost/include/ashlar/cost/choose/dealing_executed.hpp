// Division of a model's layers into the stages of a schedule that has no closed form.
#pragma once

#include <ashlar/cost/choose/dealing.hpp>

namespace ashlar::cost::dealing_detail {

// The best division that moves of one part at a time find, each weighed by executing its passes: from
// the even division, from the question's own stages, and from the division for one stage a device by the
// closed form, where the schedule has that many. `bound` is the mean of the devices' least work, or 0
// where passes may hide in pairs. Requires an executed order. Throws unpredictable.
dealing deal_executed(question const& asked, constants const& c);

}  // namespace ashlar::cost::dealing_detail
