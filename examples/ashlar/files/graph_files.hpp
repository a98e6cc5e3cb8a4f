// Stage graphs in files of schedules and of building blocks.
#pragma once

#include "files/json_files.hpp"
#include <ashlar/model/stage_graph.hpp>

namespace tool {

// `edges`, a list of pairs, and "micro_batch_sizes", one a stage; a chain where there are no
// edges. Throws usage_error for what is neither, and violation for what is no graph of so many stages.
ashlar::stage_graph graph_of_json(json_text const& source, int stage_count,
                                  char const* edges = "stage_edges");

}  // namespace tool
