// Divisions of models, and what to choose under limits on memory.
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
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/plan/parts/partition.hpp>
#include <ashlar/plan/parts/variants.hpp>
#include <ashlar/plan/serving/plan_serving.hpp>
#include <ashlar/plan/serving/serving.hpp>
#include <ashlar/plan/serving/serving_bounds.hpp>
#include <ashlar/plan/serving/two_phase.hpp>
