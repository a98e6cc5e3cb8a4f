#include "files/operator_files.hpp"

#include "command.hpp"
#include "files/json_files.hpp"
#include "options/limits.hpp"
#include <ashlar/interop/json_graph.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace tool {

namespace {

constexpr int most_operators = 4000;

class operator_reader : json_reader {
 public:
  explicit operator_reader(json_text const& source) : json_reader(source) {}

  named_operators read() const {
    nlohmann::json const& file = source_.root();
    must_know(file, {"operators", "edges"});
    nlohmann::json const& all = list(at(file, "operators"), "operators");
    if (all.empty() || all.size() > most_operators)
      fail(all, fmt::format("\"operators\" must have 1 to {} of them", most_operators));
    named_operators read;
    for (nlohmann::json const& one : all) {
      must_know(object(one, "operators"), {"name", "launch", "forward", "backward_input",
                                           "backward_weight", "weights", "kept", "output"});
      read.names.push_back(name_of(one, read.names.size()));
      read.model.cost.push_back({.launch = size(one, "launch", true),
                                 .forward = size(one, "forward", false),
                                 .backward_input = size(one, "backward_input", false),
                                 .backward_weight = size(one, "backward_weight", true),
                                 .weights = size(one, "weights", true),
                                 .kept = size(one, "kept", true),
                                 .output = size(one, "output", true)});
    }
    read.model.graph = ashlar::read_json_graph(source_, static_cast<int>(all.size()), "edges");
    return read;
  }

 private:
  void must_know(nlohmann::json const& object, std::vector<std::string_view> const& keys) const {
    for (auto const& [key, value] : object.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        fail(value, fmt::format("has \"{}\", which means nothing here", key.substr(0, 64)));
  }
  std::string name_of(nlohmann::json const& one, std::size_t number) const {
    if (!one.contains("name")) return std::to_string(number);
    return text(one["name"], "name");
  }
  long long size(nlohmann::json const& one, char const* key, bool optional) const {
    return optional && !one.contains(key) ? 0 : whole(at(one, key), key, 0, most_memory);
  }
};

}  // namespace

named_operators read_operators(std::string const& path) {
  json_text const source = read_json_text(path);
  if (!source.root().is_object()) throw usage_error(fmt::format("'{}' is not a JSON object", path));
  return operator_reader(source).read();
}

}  // namespace tool
