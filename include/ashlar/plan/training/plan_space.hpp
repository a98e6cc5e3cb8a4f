// All ways to train a model on devices of one kind or several.
#pragma once

#include <ashlar/plan/training/plan_question.hpp>

#include <vector>

namespace ashlar {

// All plans of the question, feasible or not: kinds in every order, with each other or alone; tensor
// ranks within a node that divide the heads, pipelines of at most one device a layer, micro-batches in
// powers of two, recomputation, sharing of parameters, schedules, chunks, pieces of sequences, divisions
// of layers. None where layers were measured and devices are of several kinds: it is not known on which.
// Throws violation{check(q)}.
std::vector<training_plan> all_plans(plan_question const& q,
                                     std::vector<catalog::entry const*> const& entries);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/plan_space.ipp>
#endif
