// Costs that are not given stage by stage are those of a p-th of the model, so that schedules of
// different numbers of stages compute one model.
#pragma once

#include "options/cost_options.hpp"
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <string>

namespace tool {

struct shared_costs {
  ashlar::costs cost;  // of the stages
  time_scale scale;
  std::string words;  // which part of the model a stage has, if it is not what costs are of; else empty
};

// The costs of the stages of `s`, which runs m micro-batches on p devices. Nothing if costs are of each
// stage, or stages are not consecutive pieces of a model. Throws as costs_of().
std::optional<shared_costs> share_costs(cost_options const& options, long long p, long long m,
                                        ashlar::schedule const& s);

}  // namespace tool
