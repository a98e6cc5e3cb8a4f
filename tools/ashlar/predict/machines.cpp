#include "predict/machines.hpp"

#include "command.hpp"
#include "options/number_option.hpp"
#include "predict/embedded.hpp"
#include "predict/names.hpp"
#include <ashlar/cost/cluster/json_machine.hpp>
#include <ashlar/interop/input_limits.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace tool {

namespace {

constexpr int most_cluster_size = ashlar::input_limits::cluster_devices;

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
  });
}

}  // namespace

std::vector<machine_sheet> const& known_machines() {
  static std::vector<machine_sheet> const all = [] {
    std::vector<machine_sheet> read;
    for (embedded_file const& each : embedded_machines())
      read.push_back(ashlar::read_json_machine(json_text_of(each.text, each.name)));
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

bool is_of_kind(ashlar::cost::machine const& m, std::string const& kind) {
  return std::any_of(known_machines().begin(), known_machines().end(), [&](machine_sheet const& s) {
    ashlar::cost::machine known = s.machine;
    known.per_node = m.per_node;
    known.host = m.host;
    return s.name == kind && known == m;
  });
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
      return machine_cluster_in(read_json_text(text));
    sheet_named(text);  // reports a near miss
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

machine_cluster machine_cluster_in(json_text const& sheet) {
  ashlar::json_cluster const read = ashlar::read_json_cluster(sheet);
  machine_cluster c{.name = read.sheet.name.empty() ? sheet.path : read.sheet.name,
                    .nodes = read.nodes,
                    .machine = read.sheet.machine};
  if (c.nodes > most_cluster_size / c.machine.per_node)
    throw usage_error(
        fmt::format("--cluster: '{}' must have at most {} devices", sheet.path, most_cluster_size));
  return c;
}

std::string word_of(machine_cluster const& cluster) {
  for (machine_sheet const& s : known_machines()) {
    ashlar::cost::machine known = s.machine;
    known.per_node = cluster.machine.per_node;
    known.is_measured = cluster.machine.is_measured;
    if (s.name == cluster.name && known == cluster.machine)
      return fmt::format("{}x{}x{}", cluster.nodes, cluster.machine.per_node, cluster.name);
  }
  return {};
}

}  // namespace tool
