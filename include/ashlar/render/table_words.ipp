// Definitions of table_words.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/table_words.hpp>

namespace ashlar::render_detail {

ASHLAR_INLINE std::string size_of_table(diagnosis const& d) {
  bool const one_for_all = d.of == table::stage_costs || d.of == table::sequence_chunk_costs
                           || d.of == table::micro_batch_costs || d.of == table::stage_memory
                           || d.of == table::micro_batch_memory || d.of == table::device_budgets;
  std::string const sizes =
      std::to_string(d.number) + ", not " + (one_for_all ? "1 or " : "") + std::to_string(d.needed);
  switch (d.of) {
    case table::none:
      break;
    case table::stages_of_route:
      return "stages on a route are " + sizes;
    case table::stages_of_placement:
      return "stages of the placement are " + sizes;
    case table::devices_of_placement:
      return "devices of the placement are " + sizes;
    case table::stages_of_graph:
      return "stages of the graph are " + sizes;
    case table::micro_batches_of_schedule:
      return "micro-batches are " + sizes;
    case table::stage_costs:
      return "costs of stages are " + sizes;
    case table::sequence_chunk_costs_of_stages:
      return "costs of chunks of sequences on all stages are " + sizes;
    case table::sequence_chunk_costs:
      return "chunks of a sequence that have costs of their own are " + sizes;
    case table::pair_costs:
      return "costs of pairs of stages are " + sizes;
    case table::micro_batch_costs:
      return "micro-batches that have costs of their own are " + sizes;
    case table::device_speeds:
      return "speeds of devices are " + sizes;
    case table::stage_memory:
      return "sizes of stages in memory are " + sizes;
    case table::micro_batch_memory:
      return "micro-batches that have sizes of their own in memory are " + sizes;
    case table::device_budgets:
      return "budgets of devices are " + sizes;
    case table::micro_batch_sizes:
      return "sizes of the stages' micro-batches are " + sizes;
    case table::in_flight_counts:
      return "counts of the stages' micro-batches in flight are " + sizes;
    case table::routes_of_workload:
      return "counts of the routes' micro-batches are " + sizes;
    case table::device_orders:
      return "orders of devices are " + sizes;
    case table::stages_of_operators:
      return "operators that have a stage are " + sizes;
    case table::operator_costs:
      return "costs of operators are " + sizes;
    case table::device_variants:
      return "devices with variants of layers are " + sizes;
    case table::layers_of_variant:
      return "layers with variants on device " + std::to_string(d.first.device) + " are " + sizes;
    case table::timed_instructions:
      return "times of instructions are " + sizes;
    case table::copies_of_stages:
      return "times of copies of stages are " + sizes;
    case table::stays_of_devices:
      return "lists of the stays of weights are " + sizes;
  }
  return "";
}

}  // namespace ashlar::render_detail
