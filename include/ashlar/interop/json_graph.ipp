// Definitions of json_graph.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_graph.hpp>
#include <ashlar/interop/json_reader.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ashlar {

ASHLAR_INLINE stage_graph read_json_graph(json_text const& source, int stage_count,
                                          char const* edges_key) {
  json_reader const read(source);
  nlohmann::json const& file = source.root();
  auto const stage = [&](nlohmann::json const& value) {
    return static_cast<int>(read.whole(value, edges_key, 0, input_limits::micro_batches));
  };
  stage_graph graph = chain(stages{stage_count});
  if (file.contains(edges_key)) {
    std::vector<stage_edge> edges;
    for (nlohmann::json const& edge : read.list(file[edges_key], edges_key)) {
      if (read.list(edge, edges_key).size() != 2)
        read.fail(edge, "\"" + std::string(edges_key) + "\" must have two stages for each edge");
      edges.push_back({stage(edge[0]), stage(edge[1])});
    }
    graph = read.made_of(file[edges_key], edges_key,
                         [&] { return stage_graph(stages{stage_count}, edges); });
  }
  if (file.contains("shards")) {
    std::vector<std::vector<int>> layers;
    for (nlohmann::json const& shards : read.list(file["shards"], "shards")) {
      layers.emplace_back();
      for (nlohmann::json const& shard : read.list(shards, "shards"))
        layers.back().push_back(
            static_cast<int>(read.whole(shard, "shards", 0, input_limits::micro_batches)));
    }
    char const* const key = "shard_gradients";
    std::string const given = file.contains(key) ? read.text(file[key], key) : "of_backward";
    bool const early = given == "of_forward";
    if (!early && given != "of_backward")
      read.fail(file[key], "\"shard_gradients\" must be \"of_forward\" or \"of_backward\"");
    graph = read.made_of(file["shards"], "shards", [&] {
      return in_shards(graph, layers, early ? shard_gradient::of_forward : shard_gradient::of_backward);
    });
  }
  char const* const sizes_key = "micro_batch_sizes";
  if (!file.contains(sizes_key)) return graph;
  std::vector<int> sizes;
  for (nlohmann::json const& size : read.list(file[sizes_key], sizes_key))
    sizes.push_back(static_cast<int>(read.whole(size, sizes_key, 0, input_limits::micro_batches)));
  return read.made_of(file[sizes_key], sizes_key, [&] { return in_micro_batches(graph, sizes); });
}

}  // namespace ashlar
