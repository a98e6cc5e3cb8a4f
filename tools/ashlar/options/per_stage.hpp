// Files with a line for each stage, micro-batch or layer: the times of its passes, or its memory.
#pragma once

#include "options/durations.hpp"
#include <ashlar/model/memory_model.hpp>

#include <array>
#include <string>
#include <vector>

namespace tool {

// Times of forward, input pass, weight pass.
using stage_durations = std::array<duration, 3>;

// The file of --per-stage: `forward,backward_input,backward_weight`. Empty lines and lines that begin
// with # do not count. Throws usage_error with the line at fault.
std::vector<stage_durations> read_passes(std::string const& path);

// A layer of a model, or a micro-batch: times, and sizes if the file has them.
struct sized_line {
  stage_durations times;
  std::vector<ashlar::byte_count> sizes = {};  // two or none
};

// The file of --per-layer: `forward,backward_input,backward_weight` or
// `forward,backward_input,backward_weight,resident,stash`, the same in all lines. Likewise.
std::vector<sized_line> read_per_layer(std::string const& path);

// The file of --per-micro-batch: likewise with `message,stash`.
std::vector<sized_line> read_per_micro_batch(std::string const& path);

// The file of --per-stage-bytes: `resident,stash` or `resident,stash,left`. Likewise.
std::vector<ashlar::stage_memory> read_per_stage_bytes(std::string const& path);

}  // namespace tool
