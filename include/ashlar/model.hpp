// The model and its devices: the stage graph, placements, dependencies, speeds of devices, shared
// parameters, memory.
#pragma once

#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/in_flight.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/migration.hpp>
#include <ashlar/model/operator_partition.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/model/requests.hpp>
#include <ashlar/model/stage_graph.hpp>
#include <ashlar/model/work_lists.hpp>
