// The least that a step takes whose passes are executed, known before they are.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <vector>

namespace ashlar::cost {

// Seconds that step_of() says at least, in whatever order the schedule of the layout runs its passes: a
// device works on all passes of its stages and waits for nothing, and passes hide as much as they can
// of all that comes once. On several routes, whose shares are known only once the schedule is made, the
// mean over devices counts. With `has_pairs`, each forward also hides as much as it can with any
// backward of its device. Requires a schedule of the catalog. Makes one with a few micro-batches, to
// know its stages. Throws unpredictable, and violation where the catalog has no such schedule.
double least_step_seconds(question const& q, std::vector<stage> const& stages, bool has_pairs,
                          constants const& c);

}  // namespace ashlar::cost
