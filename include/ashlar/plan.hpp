// From a question to a plan: the time and memory of a model on a cluster, and what to choose under
// limits on memory.
#pragma once

#include <ashlar/plan/amp.hpp>
#include <ashlar/plan/choose.hpp>
#include <ashlar/plan/convex_partition.hpp>
#include <ashlar/plan/device_grid.hpp>
#include <ashlar/plan/device_kind.hpp>
#include <ashlar/plan/divide.hpp>
#include <ashlar/plan/graph_partition.hpp>
#include <ashlar/plan/graph_plan.hpp>
#include <ashlar/plan/layer_division.hpp>
#include <ashlar/plan/layered_layouts.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/least_squares.hpp>
#include <ashlar/plan/listed_layers.hpp>
#include <ashlar/plan/measured_layers.hpp>
#include <ashlar/plan/operators.hpp>
#include <ashlar/plan/part_sums.hpp>
#include <ashlar/plan/partition.hpp>
#include <ashlar/plan/plan_question.hpp>
#include <ashlar/plan/plan_serving.hpp>
#include <ashlar/plan/plan_sites.hpp>
#include <ashlar/plan/plan_space.hpp>
#include <ashlar/plan/planner.hpp>
#include <ashlar/plan/series_parallel.hpp>
#include <ashlar/plan/serving.hpp>
#include <ashlar/plan/serving_bounds.hpp>
#include <ashlar/plan/sharded_parameters.hpp>
#include <ashlar/plan/simulated_step.hpp>
#include <ashlar/plan/step_model.hpp>
#include <ashlar/plan/training_plan.hpp>
#include <ashlar/plan/transformer.hpp>
#include <ashlar/plan/transformer_memory.hpp>
#include <ashlar/plan/two_phase.hpp>
#include <ashlar/plan/variants.hpp>
