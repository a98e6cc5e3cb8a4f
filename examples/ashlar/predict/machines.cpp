#include "predict/machines.hpp"

#include "command.hpp"
#include "files/json_files.hpp"
#include "options/number_option.hpp"
#include "predict/embedded.hpp"
#include "predict/names.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::predict::generation;
using ashlar::predict::machine;

constexpr int most_cluster_size = 1'000'000;

constexpr std::array generation_names{std::pair{"volta", generation::volta},
                                      std::pair{"ampere", generation::ampere},
                                      std::pair{"ada", generation::ada},
                                      std::pair{"hopper", generation::hopper},
                                      std::pair{"blackwell", generation::blackwell},
                                      std::pair{"blackwell-ultra", generation::blackwell_ultra},
                                      std::pair{"cdna2", generation::cdna2},
                                      std::pair{"cdna3", generation::cdna3},
                                      std::pair{"cdna4", generation::cdna4}};

// A data sheet: figures are numbers, or objects with a value and its source.
class sheet_reader {
 public:
  explicit sheet_reader(json_text const& text) : read_(text), root_(text.root) {
    if (!root_.is_object()) read_.fail(root_, "a data sheet must be a JSON object");
  }

  machine_sheet sheet() const {
    machine_sheet s;
    s.name = root_.contains("name") ? read_.text(root_.at("name"), "name") : "";
    if (root_.contains("names"))
      for (nlohmann::json const& each : read_.list(root_.at("names"), "names"))
        s.names.push_back(read_.text(each, "names"));
    machine& m = s.machine;
    m.built = built();
    nlohmann::json const& peaks = read_.object(read_.at(root_, "peak_flops"), "peak_flops");
    for (auto const& [format, rate] : {std::pair{"fp32", &m.peak.fp32}, std::pair{"tf32", &m.peak.tf32},
                                       std::pair{"fp16", &m.peak.fp16}, std::pair{"bf16", &m.peak.bf16},
                                       std::pair{"fp8", &m.peak.fp8}, std::pair{"fp4", &m.peak.fp4}})
      if (peaks.contains(format)) *rate = figure(peaks, format);
    if (!(ashlar::predict::peak(m, ashlar::predict::number_format::bf16) > 0)
        || !(ashlar::predict::peak(m, ashlar::predict::number_format::fp32) > 0))
      read_.fail(peaks, "\"peak_flops\" must have fp32, and fp16 or bf16");
    m.memory_bytes = figure(root_, "memory_bytes");
    m.memory_bandwidth = figure(root_, "memory_bandwidth");
    m.inside = figure(root_, "link_inside");
    m.outside = figure(root_, "link_outside");
    m.domain = count("domain");
    m.per_node = count("devices_per_node");
    m.units = figure(root_, "units");
    m.exponentials = figure(root_, "exponentials");
    m.power = figure(root_, "power_watts");
    return s;
  }

  int count(char const* key) const {
    nlohmann::json const& found = valued(root_, key);
    return static_cast<int>(read_.whole(found, key, 1, most_cluster_size));
  }

  // A slip of the pen is not passed over.
  void must_be_known(bool may_have_nodes) const {
    std::vector<std::string> known{"name",         "names",        "generation",  "devices_per_node",
                                   "peak_flops",   "memory_bytes", "link_inside", "memory_bandwidth",
                                   "link_outside", "domain",       "units",       "exponentials",
                                   "power_watts"};
    if (may_have_nodes) known.emplace_back("nodes");
    for (auto const& [key, value] : root_.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        read_.fail(value, fmt::format("\"{}\" means nothing here{}", key.substr(0, 64),
                                      did_you_mean(key, known)));
  }

 private:
  nlohmann::json const& valued(nlohmann::json const& object, char const* key) const {
    nlohmann::json const& found = read_.at(object, key);
    return found.is_object() ? read_.at(found, "value") : found;
  }
  double figure(nlohmann::json const& object, char const* key) const {
    return read_.number(valued(object, key), key, 1e-3, 1e21);
  }

  generation built() const {
    nlohmann::json const& found = read_.at(root_, "generation");
    std::string const word = read_.text(found, "generation");
    std::string all;
    for (auto const& [name, g] : generation_names) {
      if (word == name) return g;
      all += fmt::format(" {}", name);
    }
    read_.fail(found, fmt::format("\"generation\" must be one of:{}", all));
  }

  json_reader read_;
  nlohmann::json const& root_;
};

machine_cluster cluster_file(std::string const& path) {
  json_text const text = read_json_text(path);
  sheet_reader const reader(text);
  reader.must_be_known(true);
  machine_sheet const sheet = reader.sheet();
  machine_cluster c{.name = sheet.name.empty() ? path : sheet.name,
                    .nodes = reader.count("nodes"),
                    .machine = sheet.machine};
  if (c.nodes > most_cluster_size / c.machine.per_node)
    throw usage_error(
        fmt::format("--cluster: '{}' must have at most {} devices", path, most_cluster_size));
  return c;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
  });
}

}  // namespace

std::vector<machine_sheet> const& known_machines() {
  static std::vector<machine_sheet> const all = [] {
    std::vector<machine_sheet> read;
    for (embedded_file const& each : embedded_machines()) {
      json_text const text = json_text_of(each.text, each.name);
      sheet_reader const reader(text);
      reader.must_be_known(false);
      read.push_back(reader.sheet());
    }
    return read;
  }();
  return all;
}

machine_sheet const& sheet_named(std::string_view kind) {
  std::string const small = in_small_letters(kind);
  std::vector<std::string> names;
  std::string list;
  for (machine_sheet const& s : known_machines()) {
    for (std::string const& each : s.names) names.push_back(each);
    names.push_back(s.name);
    list += fmt::format(" {}", s.name);
    if (in_small_letters(s.name) == small) return s;
    for (std::string const& each : s.names)
      if (in_small_letters(each) == small) return s;
  }
  throw usage_error(fmt::format("--cluster: no machine '{}' is known{}; there are:{}",
                                kind.substr(0, 64), did_you_mean(kind, names), list));
}

machine_cluster read_machine_cluster(std::string const& text) {
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  while (parts.size() < 2) {
    auto const x = rest.find('x');
    if (x == std::string_view::npos || !is_number(rest.substr(0, x))) break;
    parts.push_back(rest.substr(0, x));
    rest.remove_prefix(x + 1);
  }
  if (parts.empty()) {
    if (text.find('.') != std::string::npos || text.find('/') != std::string::npos || text == "-")
      return cluster_file(text);
    sheet_named(text);  // a near miss is told
    throw usage_error(
        fmt::format("--cluster is NODESxDEVICESxKIND as 16x8x{0}, or a file, not '{0}'", text));
  }
  machine_sheet const& sheet = sheet_named(rest);
  machine_cluster c{.name = sheet.name, .machine = sheet.machine};
  if (parts.size() == 2)
    c.nodes = number_within<int>("--cluster: nodes", parts[0], 1, most_cluster_size);
  c.machine.per_node =
      number_within<int>("--cluster: devices of a node", parts.back(), 1, most_cluster_size / c.nodes);
  return c;
}

}  // namespace tool
