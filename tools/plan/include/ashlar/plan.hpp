// From a question to a plan: the time and memory of a model on a cluster, and what to choose under
// limits on memory.
#pragma once

#include <ashlar/plan/graphs/convex_partition.hpp>
#include <ashlar/plan/graphs/graph_partition.hpp>
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/plan/graphs/operators.hpp>
#include <ashlar/plan/graphs/part_sums.hpp>
#include <ashlar/plan/graphs/series_parallel.hpp>
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/parts/deal_samples.hpp>
#include <ashlar/plan/parts/divide.hpp>
#include <ashlar/plan/parts/variants.hpp>
#include <ashlar/plan/serving/plan_serving.hpp>
#include <ashlar/plan/serving/serving.hpp>
#include <ashlar/plan/serving/serving_bounds.hpp>
#include <ashlar/plan/serving/two_phase.hpp>
#include <ashlar/plan/training/amp.hpp>
#include <ashlar/plan/training/device_grid.hpp>
#include <ashlar/plan/training/device_kind.hpp>
#include <ashlar/plan/training/layer_division.hpp>
#include <ashlar/plan/training/layered_layouts.hpp>
#include <ashlar/plan/training/layout.hpp>
#include <ashlar/plan/training/listed_layers.hpp>
#include <ashlar/plan/training/measured_layers.hpp>
#include <ashlar/plan/training/partition.hpp>
#include <ashlar/plan/training/plan_question.hpp>
#include <ashlar/plan/training/plan_sites.hpp>
#include <ashlar/plan/training/plan_space.hpp>
#include <ashlar/plan/training/planner.hpp>
#include <ashlar/plan/training/sharded_parameters.hpp>
#include <ashlar/plan/training/shared_batch.hpp>
#include <ashlar/plan/training/simulated_step.hpp>
#include <ashlar/plan/training/step_model.hpp>
#include <ashlar/plan/training/training_plan.hpp>
#include <ashlar/plan/training/transformer.hpp>
#include <ashlar/plan/training/transformer_memory.hpp>
