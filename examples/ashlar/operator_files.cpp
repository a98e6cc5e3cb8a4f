#include "operator_files.hpp"

#include "command.hpp"
#include "files.hpp"
#include "graph_files.hpp"
#include "json_files.hpp"
#include "limits.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace tool {

namespace {

constexpr int most_operators = 4000;

class operator_reader : json_reader {
 public:
  explicit operator_reader(json_text const& source) : json_reader(source) {}

  named_operators read() const {
    nlohmann::json const& file = source_.root;
    must_know(file, {"operators", "edges"});
    nlohmann::json const& all = at(file, "operators");
    if (!all.is_array() || all.empty() || all.size() > most_operators)
      fail(all, fmt::format("must give a list of 1 to {} operators", most_operators));
    named_operators read;
    for (nlohmann::json const& one : all) {
      if (!one.is_object()) fail(one, "must give an operator as an object");
      must_know(one, {"name", "launch", "forward", "backward_input", "backward_weight", "weights",
                      "kept", "output"});
      read.names.push_back(name_of(one, read.names.size()));
      read.model.cost.push_back({.launch = whole(one, "launch", true),
                                 .forward = whole(one, "forward", false),
                                 .backward_input = whole(one, "backward_input", false),
                                 .backward_weight = whole(one, "backward_weight", true),
                                 .weights = whole(one, "weights", true),
                                 .kept = whole(one, "kept", true),
                                 .output = whole(one, "output", true)});
    }
    read.model.graph = graph_of_json(source_, static_cast<int>(all.size()), "edges");
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
    if (!one["name"].is_string()) fail(one["name"], "must give text as \"name\"");
    return one["name"].get<std::string>();
  }
  long long whole(nlohmann::json const& one, char const* key, bool optional) const {
    if (optional && !one.contains(key)) return 0;
    nlohmann::json const& value = at(one, key);
    if (!value.is_number_integer()) fail(value, fmt::format("must give a whole number as \"{}\"", key));
    return static_cast<long long>(number(value, key, 0, static_cast<double>(most_memory)));
  }
};

}  // namespace

named_operators read_operators(std::string const& path) {
  std::string const text = read_text(path);
  json_text const source{path, text, parse_json(text, path)};
  if (!source.root.is_object()) throw usage_error(fmt::format("'{}' is not a JSON object", path));
  return operator_reader(source).read();
}

}  // namespace tool
