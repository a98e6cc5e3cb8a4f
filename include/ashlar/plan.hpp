// From a question to a plan: what a model takes on a cluster, what to choose under limits on memory.
#pragma once

#include <ashlar/plan/amp.hpp>
#include <ashlar/plan/choose.hpp>
#include <ashlar/plan/device_grid.hpp>
#include <ashlar/plan/divide.hpp>
#include <ashlar/plan/graph_partition.hpp>
#include <ashlar/plan/graph_plan.hpp>
#include <ashlar/plan/layout.hpp>
#include <ashlar/plan/least_squares.hpp>
#include <ashlar/plan/measured_layers.hpp>
#include <ashlar/plan/operators.hpp>
#include <ashlar/plan/part_sums.hpp>
#include <ashlar/plan/partition.hpp>
#include <ashlar/plan/plan_serving.hpp>
#include <ashlar/plan/series_parallel.hpp>
#include <ashlar/plan/serving.hpp>
#include <ashlar/plan/serving_bounds.hpp>
#include <ashlar/plan/simulated_step.hpp>
#include <ashlar/plan/step_model.hpp>
#include <ashlar/plan/training_plan.hpp>
#include <ashlar/plan/transformer.hpp>
#include <ashlar/plan/transformer_memory.hpp>
#include <ashlar/plan/two_phase.hpp>
#include <ashlar/plan/variants.hpp>
