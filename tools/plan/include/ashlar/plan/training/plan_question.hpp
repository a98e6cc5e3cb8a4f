// The question to the planner of training, and one possible answer: devices and a schedule.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/plan/training/device_kind.hpp>
#include <ashlar/plan/training/layout.hpp>
#include <ashlar/plan/training/listed_layers.hpp>
#include <ashlar/plan/training/transformer.hpp>
#include <ashlar/plan/training/transformer_memory.hpp>

#include <vector>

namespace ashlar {

// The objective to minimize: seconds of a step, or seconds times devices.
enum class plan_objective : unsigned char { time, device_time };

// A model, devices of one kind or several, a batch of this many sequences.
struct plan_question {
  transformer model;                // of a listed model only layers, heads and tokens count
  std::vector<listed_model> lists;  // one for each number of tensor ranks; empty: a transformer
  std::vector<device_kind> kinds = std::vector<device_kind>(1);
  double between_kinds = 0;  // bytes a second in each direction; 0: as fast as the slower kind's network
  kept_widths widths;
  bool takes_fewer_devices = false;  // also halves, quarters and so on of each kind
  plan_objective objective = plan_objective::time;
  int batch = 1;
  double margin = 0;  // share of a device's memory to leave free
  int largest_micro_batch = 8;
  std::vector<sharding_level> levels = {sharding_level::none, sharding_level::optimizer,
                                        sharding_level::gradients, sharding_level::full};
  int kind = -1;                              // only devices of this kind; -1: any
  bool divides_evenly = false;                // only even divisions of layers
  int tensor = 0;                             // only this many tensor ranks; 0: any
  std::vector<int> chunks = {2, 4};           // stages on a device, if the schedule has the choice
  std::vector<int> sequence_chunks = {2, 4};  // pieces of sequences, if the schedule uses them

  // The memory that a plan may use on a device.
  double budget(device_machine const& machine) const { return machine.memory * (1 - margin); }
};

// Whether it can be answered: rule::parameter_is_at_least, rule::parameter_is_at_most (of counts so
// large that plans could not be listed), rule::figures_are_in_range (also for the margin),
// rule::tables_agree (a list of other layers), rule::sizes_fit for a causal share that is not a
// percentage. Overflow of times and bytes is reported by the functions that compute them.
diagnosis check(plan_question const& q);

// One possible answer.
struct training_plan {
  training_layout layout;
  sharding_level sharding = sharding_level::none;  // of the data ranks
  int micro_batches = 1;
  catalog::entry const* entry = nullptr;
  int chunks = 1;                                   // stages on one device
  int sequence_chunks = 1;                          // of each micro-batch
  std::vector<int> layers = {};                     // of each stage
  std::vector<int> kinds = std::vector<int>(1, 0);  // used kinds, in the order of the pipeline

  int device_count() const { return layout.tensor * layout.pipeline * layout.data; }
};

// The placement of a plan's stages.
placement placement_of(training_plan const& plan);

// Enough micro-batches to show the peak memory: schedules reach their steady state long before.
inline int enough_micro_batches(training_plan const& plan) {
  return min_of(plan.micro_batches, 4 * plan.layout.pipeline);
}

// The plan's schedule for `micro_batch_count` micro-batches, with the unit costs of the catalog. Throws
// as catalog::entry::make() does.
schedule passes_of(training_plan const& plan, int micro_batch_count);

// The list for this many tensor ranks, or null.
listed_model const* list_of(plan_question const& q, int tensor);

}  // namespace ashlar
