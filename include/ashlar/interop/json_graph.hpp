// Stage graphs in files of schedules and of building blocks.
#pragma once

#include <ashlar/interop/json_text.hpp>
#include <ashlar/model/stage_graph.hpp>

namespace ashlar {

// Reads `edges`, a list of pairs, "micro_batch_sizes", one per stage, and "shards", lists of stages,
// with "shard_gradients"; without edges it is a chain. Throws input_error for malformed values, and if
// they form no graph of this many stages.
stage_graph read_json_graph(json_text const& source, int stage_count, char const* edges = "stage_edges");

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_graph.ipp>
#endif
