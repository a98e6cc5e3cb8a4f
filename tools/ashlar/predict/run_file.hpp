// A run as a file: model, cluster, batch, layout and program (docs/formats.md).
#pragma once

#include "files/json_files.hpp"
#include "predict/framework_files.hpp"
#include "predict/machines.hpp"
#include "predict/report.hpp"

#include <optional>
#include <string>

namespace tool {

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

// Writes the run that was predicted. Orders of passes, recomputation and times that came from files are
// their paths.
std::string run_text(prediction const& p);

}  // namespace tool
