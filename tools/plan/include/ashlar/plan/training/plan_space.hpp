// All ways to train a model on devices of one kind or several.
#pragma once

#include <ashlar/plan/training/plan_question.hpp>

#include <vector>

namespace ashlar {

// All plans of the question, feasible or not: kinds in every order, together or alone; tensor ranks
// within a node that divide the heads, pipelines of at most one device per layer, micro-batches in
// powers of two, recomputation, sharding of parameters, schedules, chunks, pieces of sequences,
// divisions of layers. Empty if layers were measured and devices are of several kinds, because the
// measured kind is unknown. Throws violation{check(q)}.
std::vector<training_plan> all_plans(plan_question const& q,
                                     std::vector<catalog::entry const*> const& entries);

}  // namespace ashlar
