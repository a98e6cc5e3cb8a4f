// Stage graphs in files of schedules and of building blocks.
#pragma once

#include <ashlar/interop/json_text.hpp>
#include <ashlar/model/stage_graph.hpp>

namespace ashlar {

// `edges`, a list of pairs, "micro_batch_sizes", one a stage, and "shards", lists of stages, with
// "shard_gradients"; a chain where there are no edges.
// Throws input_error for what is neither, and for what is no graph of this many stages.
stage_graph read_json_graph(json_text const& source, int stage_count, char const* edges = "stage_edges");

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/json_graph.ipp>
#endif
