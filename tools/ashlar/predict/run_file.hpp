// A run as a file: model, cluster, batch, layout and program (docs/formats.md).
#pragma once

#include "files/json_files.hpp"
#include "predict/framework_files.hpp"
#include "predict/machines.hpp"
#include "predict/report.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// The options that the sections of a run may have, but for those of its layout. Keys have underscores in
// the place of hyphens; --batch is "sequences".
inline constexpr std::array options_of_batch{"sequence", "batch", "micro-batch", "tower-tokens"};
inline constexpr std::array options_of_program{"precision",
                                               "stack",
                                               "attention",
                                               "sequence-parallel",
                                               "dispatch-fp8",
                                               "delay-weights",
                                               "fact",
                                               "scatter-once",
                                               "sum-copies-once",
                                               "wide-sums",
                                               "teacher",
                                               "frozen-copy",
                                               "frozen-forwards",
                                               "head",
                                               "freeze",
                                               "train-only",
                                               "lora",
                                               "frozen-weights",
                                               "optimizer",
                                               "tower-ranks"};

// Whether a file says that it is a run.
bool holds_run(std::string const& path);

// Throws usage_error for text that is no run, or of another version.
json_text read_run_text(std::string const& path);

// The cluster of a run; nothing: it has none.
std::optional<ashlar::cost::cluster> cluster_of_run(json_text const& run);

// The run's options, and its model if `beside` names none. Arguments of a framework are read by that
// framework's rules; what stands in batch, layout and program replaces what they say. Throws
// usage_error.
framework_run read_run(json_text const& run, beside_file const& beside);

// Adds notes of a run, each once: a run that was written has those of its options. Then the parameters
// that its program's own module has must be those of the prediction: norms that one way counts with a
// part and the other does not are below a thousandth, and told. Throws usage_error.
void add_notes(std::vector<std::string> const& notes, prediction& p);
void must_come_to(counted_parameters const& counted, prediction& p);

// Writes the run that was predicted. Orders of passes, recomputation and times that came from files are
// their paths.
std::string run_text(prediction const& p);

}  // namespace tool
