// The tables that rule::tables_agree is about.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar {

// A table has one entry for each of some things. Its name says which are counted.
enum class table : unsigned char {
  none,  // not one table: several values that do not go together
  stages_of_route,
  stages_of_placement,
  devices_of_placement,
  stages_of_graph,
  micro_batches_of_schedule,
  stage_costs,                     // or one entry for all
  sequence_chunk_costs_of_stages,  // or one entry for all stages
  sequence_chunk_costs,            // chunks of a sequence that costs distinguish, or 1
  pair_costs,                      // of pairs of stages, or one for all, for each kind of backward
  micro_batch_costs,               // of all micro-batches, or one entry for all
  device_speeds,                   // or none
  stage_memory,                    // or one entry for all
  micro_batch_memory,              // of all micro-batches, or one entry for all
  device_budgets,                  // or one entry for all
  micro_batch_sizes,               // of stages
  in_flight_counts,                // of stages
  routes_of_workload,
  device_orders,
  stages_of_operators,
  operator_costs,
  device_variants,
  layers_of_variant,
  timed_instructions,
  copies_of_stages,  // or one entry for all
  stays_of_devices,
};
inline constexpr int table_count = static_cast<int>(table::stays_of_devices) + 1;

}  // namespace ashlar
