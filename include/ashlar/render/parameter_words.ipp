// Definitions of parameter_words.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/parameter_words.hpp>

namespace ashlar {

ASHLAR_INLINE char const* name_of(parameter which) {
  switch (which) {
    case parameter::device_count:
      return "devices";
    case parameter::micro_batch_count:
      return "micro-batches";
    case parameter::stage_count:
      return "stages";
    case parameter::chunk_count:
      return "chunks";
    case parameter::wave_count:
      return "waves";
    case parameter::route_count:
      return "routes";
    case parameter::round_count:
      return "rounds";
    case parameter::group_size:
      return "micro-batches of a group";
    case parameter::unit_junction:
      return "unit junctions";
    case parameter::sequence_chunk_count:
      return "sequence chunks";
    case parameter::layer_count:
      return "layers";
    case parameter::data_rank_count:
      return "data-parallel ranks";
    case parameter::weight_buffer_count:
      return "weight buffers";
    case parameter::prefetch_distance:
      return "passes by which a gather is ahead";
    case parameter::memory_budget:
      return "memory budget";
    case parameter::device_speed:
      return "speed in percent";
    case parameter::block_interval:
      return "interval of the block, for the work";
    case parameter::work_period:
      return "steps in which all work is to be done";
    case parameter::work_part_count:
      return "parts of work";
    case parameter::work_sum_count:
      return "sums of work over devices";
    case parameter::braid_size:
      return "parts of forwards times parts of backwards";
    case parameter::batch_size:
      return "sequences of a batch";
    case parameter::device_kind_count:
      return "kinds of devices";
    case parameter::node_size:
      return "devices of a node";
    case parameter::tensor_rank_count:
      return "tensor ranks";
    case parameter::plan_count:
      return "plans to show";
    case parameter::model_size:
      return "size of the model";
    case parameter::device_figure:
      return "figure of a device";
    case parameter::step_constant:
      return "factor over the data sheet";
    case parameter::layer_figure:
      return "figure of a layer";
    case parameter::kept_width:
      return "width of what is kept";
    case parameter::memory_margin:
      return "share of memory to leave free";
    case parameter::cut_figure:
      return "cost of a cut";
  }
  return "parameters";
}

}  // namespace ashlar
