#include "predict/recomputation_choice.hpp"

#include "command.hpp"
#include "files/json_files.hpp"
#include "options/number_option.hpp"
#include "predict/choices.hpp"
#include "predict/names.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace tool {

namespace {

using ashlar::cost::feed_forward_kind;
using ashlar::cost::layer;
using ashlar::cost::mixer_kind;
using ashlar::cost::question;
using ashlar::cost::recomputation;

// Whether a layer has such a part; parts that every layer has are never wrong.
bool has_part(layer const& l, recomputation part) {
  bool const routes = l.feed.kind == feed_forward_kind::experts;
  switch (part) {
    case recomputation::up_projections:
      return l.mix.kind == mixer_kind::compressed;
    case recomputation::activation:
    case recomputation::experts:
      return routes;
    case recomputation::shared_expert:
      return routes && l.feed.shared_width > 0;
    case recomputation::dense:
      return l.feed.kind == feed_forward_kind::dense;
    case recomputation::operators:
      return l.mix.kind == mixer_kind::attention || l.mix.kind == mixer_kind::compressed;
    default:
      return true;
  }
}

// Throws usage_error if it is no part, or no layer has it.
void add_part(std::string_view given, question& q) {
  std::string const name = in_small_letters(given);
  std::vector<std::string> names;
  std::string all;
  for (auto const& [known, part] : recomputation_choices) {
    names.emplace_back(known);
    all += fmt::format(" {}", known);
    if (name != known) continue;
    bool is_there = false;
    for (layer const& l : q.model.kinds) is_there = is_there || has_part(l, part);
    if (!is_there) throw usage_error(fmt::format("no layer of the model has a part '{}'", known));
    q.layout.recompute = q.layout.recompute | part;
    return;
  }
  throw usage_error(fmt::format("no part '{}' is known{}; there are:{}", given.substr(0, 64),
                                did_you_mean(name, names), all));
}

// Names every 4th layer: "4n" from the first on, "4n+3" from the fourth on; with commas, several.
void read_steps(std::string_view left, question& q) {
  int const count = q.model.layer_count();
  std::vector<bool>& these = q.layout.recompute_in.these;
  these.assign(static_cast<std::size_t>(count), false);
  while (!left.empty()) {
    auto const comma = std::min(left.find(','), left.size());
    std::string_view const word = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    auto const n = word.find('n');
    if (n == word.npos || (n + 1 < word.size() && word[n + 1] != '+'))
      throw usage_error(fmt::format("'{}' names no layers: every 4th is 4n, or from the fourth on 4n+3",
                                    word.substr(0, 64)));
    int const step = number_within<int>("n-th layers", word.substr(0, n), 1, 1'000'000);
    int const first = n + 1 == word.size() ? 0
                                           : number_within<int>("the first of n-th layers",
                                                                word.substr(n + 2), 0, step - 1);
    for (int i = first; i < count; i += step) these[static_cast<std::size_t>(i)] = true;
  }
}

// Reads the parts on the command line, without a file.
void read_parts(std::string_view text, question& q) {
  if (auto const colon = text.find(':'); colon != text.npos) {
    std::string_view const layers = text.substr(colon + 1);
    if (layers.find('n') == layers.npos)
      q.layout.recompute_in.first =
          number_within<int>("layers of each stage", layers, 0, q.model.layer_count());
    else
      read_steps(layers, q);
    text = text.substr(0, colon);
  }
  for (;;) {
    auto const comma = text.find(',');
    add_part(text.substr(0, comma), q);
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
}

class recomputation_file : json_reader {
 public:
  recomputation_file(json_text const& source, question& q) : json_reader(source), q_(q) {}

  void read() const {
    nlohmann::json const& root = object(source_.root(), "recomputation");
    for (auto const& [key, value] : root.items())
      if (key != "modules" && key != "layers")
        fail(value, fmt::format("\"{}\" is not known; there are: modules layers", key.substr(0, 64)));
    for (nlohmann::json const& each : list(at(root, "modules"), "modules")) {
      std::string const name = text(each, "modules");
      try {
        add_part(name, q_);
      } catch (usage_error const& e) {
        fail(each, e.what());
      }
    }
    if (root.contains("layers")) read_layers(root["layers"]);
  }

 private:
  void read_layers(nlohmann::json const& layers) const {
    int const count = q_.model.layer_count();
    if (!layers.is_array()) {
      q_.layout.recompute_in.first = static_cast<int>(whole(layers, "layers", 0, count));
      return;
    }
    q_.layout.recompute_in.these.assign(static_cast<std::size_t>(count), false);
    for (nlohmann::json const& each : layers)
      q_.layout.recompute_in.these[static_cast<std::size_t>(whole(each, "layers", 0, count - 1))] = true;
  }

  question& q_;
};

}  // namespace

void choose_recomputation(std::string const& parts_or_file, prediction& p) {
  p.recompute = parts_or_file;
  if (parts_or_file.empty()) return;
  question& q = p.asked;
  if (is_path(parts_or_file)) {
    json_text const text = read_json_text(parts_or_file);
    recomputation_file(text, q).read();
  } else {
    try {
      read_parts(parts_or_file, q);
    } catch (usage_error const& e) {
      throw usage_error(fmt::format("--recompute: {}", e.what()));
    }
  }
  if (has(q.layout.recompute, recomputation::operators)
      && q.layout.recompute != recomputation::operators)
    throw usage_error("--recompute: op decides for all parts of a layer, so it stands alone");
  if (q.layout.recompute == recomputation::none || q.layout.recompute_in.first == 0) {
    q.layout.recompute = recomputation::none;
    q.layout.recompute_in = {};
  }
}

}  // namespace tool
