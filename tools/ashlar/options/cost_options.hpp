// The options that say how long passes and transfers take.
#pragma once

#include "files/costs_file.hpp"
#include "options/durations.hpp"
#include "options/per_stage.hpp"
#include <ashlar/core/cost.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/model/memory_model.hpp>

#include <CLI/CLI.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool {

struct cost_options {
  std::map<std::string, duration> times = {};   // by flag; those that are given
  std::map<std::string, duration> others = {};  // times that are no costs, in the same ticks
  std::string per_stage = {};                   // a file; empty: all stages alike
  std::string per_micro_batch = {};             // a file; empty: all micro-batches alike
  std::vector<stage_durations> each = {};       // what the file of either holds
  // Sizes in the file of micro-batches, line by line: message, stash; empty: none.
  std::vector<std::vector<ashlar::byte_count>> sizes = {};
  std::vector<int> speeds = {};             // of each device, in percent; empty: all alike
  std::optional<costs_file> measured = {};  // of --costs
  std::vector<int> causal = {};             // of --causal: a percentage, or one of each pass

  // Whether the command line gives any costs.
  bool are_given() const {
    return !times.empty() || !stages_from().empty() || !per_micro_batch.empty() || !speeds.empty();
  }
  // The file with a cost for each stage; empty: all stages alike.
  std::string const& stages_from() const { return measured ? measured->path : per_stage; }
  // Whether the file has the parts of one stage, which are those of all.
  bool are_of_all_stages() const { return measured && measured->parts.stages.size() == 1; }
};

// `of` says which part of the model the costs of the command line are of.
void add_cost_options(CLI::App& command, cost_options& options, char const* of);

// Adds --costs alone, a part of the above.
CLI::Option* add_costs_file(CLI::App& command, cost_options& options);

// Throws usage_error for more numbers than there are shares.
ashlar::causal_share causal_share_of(std::vector<int> const& causal);

// The parts of passes, if the file of --costs has them; else nothing.
ashlar::part_costs parts_of(cost_options const& options);

// The ticks of the costs, if these count. Where sequences are in chunks, those of a file are of the
// mean chunk, and those of each chunk may need finer ticks. Throws usage_error for times that do not go
// together.
time_scale scale_of(cost_options const& options, int sequence_chunks = 1);

// "forward 12.5, backward 20 + 7.5, transfer 0.5 ms", for a title.
std::string words_of(cost_options const& options);

// Turns costs from a file with a line for each stage and sequence chunk, a stage's chunks one after the
// other, into costs of chunks. Others do not change.
void split_by_sequence_chunk(ashlar::costs& cost, int stage_count, int sequence_chunks);

// The number of stages that the costs are of; 1 if all are alike.
int stages_in(ashlar::costs const& cost);

// Throws usage_error if --causal is given and the file has costs of each chunk, which leave nothing for
// it to say; costs_of() would take them for those of more stages.
void must_leave_chunks_to_causal(cost_options const& options, int stage_count, int sequence_chunks);
constexpr char const* chunks_have_costs =
    "--causal has no effect on costs that are given for each chunk";

// The costs of m micro-batches on p devices. Throws usage_error for speeds of another number of devices,
// for a file with costs of other micro-batches, or of micro-batches where sequences are in chunks, and
// as scale_of().
ashlar::costs costs_of(cost_options const& options, long long p, long long m, int sequence_chunks = 1);

// The memory of a stage, with the messages and stashes of m micro-batches that --per-micro-batch gives.
// Throws usage_error for options of `command` that give them, too.
ashlar::memory_model with_sizes(ashlar::stage_memory const& stage, cost_options const& options,
                                long long m, CLI::App const& command);

// Throws usage_error if --per-micro-batch gives costs of another number of stages.
void must_be_of_stages(cost_options const& options, ashlar::costs const& cost, int stage_count);

}  // namespace tool
