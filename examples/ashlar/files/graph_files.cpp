#include "files/graph_files.hpp"

#include "options/limits.hpp"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace tool {

ashlar::stage_graph graph_of_json(json_text const& source, int stage_count, char const* edges_key) {
  json_reader const read(source);
  nlohmann::json const& file = source.root;
  auto const stage = [&](nlohmann::json const& value) {
    return static_cast<int>(read.whole(value, edges_key, 0, most_micro_batches));
  };
  ashlar::stage_graph graph = ashlar::chain(ashlar::stages{stage_count});
  if (file.contains(edges_key)) {
    std::vector<ashlar::stage_edge> edges;
    for (nlohmann::json const& edge : read.list(file[edges_key], edges_key)) {
      if (read.list(edge, edges_key).size() != 2)
        read.fail(edge, fmt::format("\"{}\" must have two stages for each edge", edges_key));
      edges.push_back({stage(edge[0]), stage(edge[1])});
    }
    graph = read.made_of(file[edges_key], edges_key,
                         [&] { return ashlar::stage_graph(ashlar::stages{stage_count}, edges); });
  }
  if (!file.contains("micro_batch_sizes")) return graph;
  std::vector<int> sizes;
  for (nlohmann::json const& size : read.list(file["micro_batch_sizes"], "micro_batch_sizes"))
    sizes.push_back(static_cast<int>(read.whole(size, "micro_batch_sizes", 0, most_micro_batches)));
  return read.made_of(file["micro_batch_sizes"], "micro_batch_sizes",
                      [&] { return in_micro_batches(graph, sizes); });
}

}  // namespace tool
