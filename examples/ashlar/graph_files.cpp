#include "graph_files.hpp"

#include "command.hpp"
#include "limits.hpp"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace tool {

namespace {

int whole_number(json_text const& source, nlohmann::json const& value, char const* what) {
  if (!value.is_number_integer() || value < 0 || value > most_micro_batches)
    throw usage_error(fmt::format("{}: must give whole numbers from 0 to {} as \"{}\"",
                                  source.place_of(value), most_micro_batches, what));
  return value.get<int>();
}

nlohmann::json const& list_of(json_text const& source, nlohmann::json const& value,
                              std::string const& what) {
  if (!value.is_array())
    throw usage_error(fmt::format("{}: must give a list as {}", source.place_of(value), what));
  return value;
}

}  // namespace

ashlar::stage_graph graph_of_json(json_text const& source, int stage_count, char const* edges_key) {
  nlohmann::json const& file = source.root;
  ashlar::stage_graph graph = ashlar::chain(ashlar::stages{stage_count});
  if (file.contains(edges_key)) {
    std::vector<ashlar::stage_edge> edges;
    for (nlohmann::json const& edge :
         list_of(source, file[edges_key], fmt::format("\"{}\"", edges_key))) {
      if (list_of(source, edge, fmt::format("an edge of \"{}\"", edges_key)).size() != 2)
        throw usage_error(fmt::format("{}: must give two stages as an edge of \"{}\"",
                                      source.place_of(edge), edges_key));
      edges.push_back(
          {whole_number(source, edge[0], edges_key), whole_number(source, edge[1], edges_key)});
    }
    graph = ashlar::stage_graph(ashlar::stages{stage_count}, std::move(edges));
  }
  if (!file.contains("micro_batch_sizes")) return graph;
  std::vector<int> sizes;
  for (nlohmann::json const& size : list_of(source, file["micro_batch_sizes"], "\"micro_batch_sizes\""))
    sizes.push_back(whole_number(source, size, "micro_batch_sizes"));
  return in_micro_batches(std::move(graph), std::move(sizes));
}

}  // namespace tool
