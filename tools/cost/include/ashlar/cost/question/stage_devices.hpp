// The devices that stages are on.
#pragma once

#include <ashlar/catalog/shape.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/model/placement.hpp>

#include <vector>

namespace ashlar::cost {

// The shape to ask of the catalog. `chunks` are its chunks, or both ways of a wave.
catalog::shape shape_of(layout const& sizes, int micro_batches, costs cost = {});

// Throws unpredictable for more passes than can be executed.
void must_be_small(double micro_batches, double stages);

// The placement of the schedule that is executed; else stage s is on device s mod pipeline. Requires a
// question that check() accepts. Throws unpredictable, and violation if the catalog has no such schedule
// of the question's sizes.
placement placement_of(question const& q);

// Virtual stages of the whole pipeline. Throws as placement_of() does.
int stage_count(question const& q);

// The stages of each device, ascending. If micro-batches take several routes, it has one of each.
std::vector<std::vector<int>> stages_by_device(placement const& where);

}  // namespace ashlar::cost
