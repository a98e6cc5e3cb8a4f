// The least that a step takes whose passes are executed, known before they are.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <vector>

namespace ashlar::cost {

// Traits of a schedule of the catalog that are known before it is made for a layout.
struct schedule_traits {
  bool may_have_pairs = true;  // passes that run as a pair
  bool may_split = true;       // backwards in two passes
};

// A lower bound on the seconds of step_of(), for any order of passes of the layout's schedule. A
// device works on all passes of its stages, and passes hide as much as they can of all that comes once.
// Where all micro-batches are executed, the device also waits for the first forward of the stages before
// its own, and for their last backward unless it may run weight passes meanwhile. On several routes,
// whose shares are known only once the schedule is made, the mean over devices counts. With pairs, each
// forward hides as much as it can with any backward of its device. Requires a question that check()
// accepts with its stages and a schedule of the catalog, of which it makes one with a few micro-batches,
// to know the stages. Throws unpredictable, and violation where the catalog has no such schedule.
double least_step_seconds(question const& q, std::vector<stage> const& stages,
                          schedule_traits const& traits, constants const& c);

}  // namespace ashlar::cost
