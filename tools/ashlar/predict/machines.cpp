#include "predict/machines.hpp"

#include "command.hpp"
#include "files/json_files.hpp"
#include "files/json_object.hpp"
#include "options/number_option.hpp"
#include "predict/embedded.hpp"
#include "predict/names.hpp"
#include <ashlar/cost/cluster/json_machine.hpp>
#include <ashlar/interop/input_limits.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::device_kind;
using ashlar::cost::machine;

constexpr int most_cluster_size = ashlar::input_limits::cluster_devices;
constexpr std::size_t most_kinds = 4;  // their orders are 64

// Throws usage_error for more devices than may be asked for.
void must_be_small(ashlar::cost::cluster const& c, std::string const& text) {
  long long all = 0;
  for (device_kind const& each : c.kinds) all += each.devices;
  if (all > most_cluster_size)
    throw usage_error(fmt::format("--cluster: '{}' must have at most {} devices", text.substr(0, 64),
                                  most_cluster_size));
}

// The known kind whose 16-bit products are as fast, or nearest.
machine_sheet const& nearest_sheet(double flops) {
  machine_sheet const* nearest = nullptr;
  double least = 0;
  for (machine_sheet const& s : known_machines()) {
    double const apart = std::fabs(std::log(peak(s.machine, ashlar::cost::number_format::bf16) / flops));
    if (nearest != nullptr && !(apart < least)) continue;
    nearest = &s;
    least = apart;
  }
  return *nearest;
}

// A kind of a few figures: what they leave open is as in the data sheet that it names, or in that of the
// known kind whose products are nearest.
device_kind kind_of(json_object& file, std::string const& name, int most_devices) {
  int const nodes = static_cast<int>(file.number("nodes", 1, most_cluster_size));
  int const per_node = static_cast<int>(file.number("devices_per_node", 1, most_cluster_size / nodes));
  if (nodes * per_node > most_devices)
    file.fail(fmt::format("makes more than {} devices with the others", most_cluster_size));
  std::string const like = file.word("like", "");
  std::optional<double> const given = like.empty() ? std::nullopt : std::optional<double>(0);
  double const flops = file.real("flops", 1, given);
  machine m = like.empty() ? nearest_sheet(flops).machine : sheet_named(like).machine;
  bool const is_old = !(m.peak.bf16 > 0);  // it has products of fp16 alone
  m.per_node = per_node;
  if (flops > 0) {
    double const times = flops / peak(m, ashlar::cost::number_format::bf16);
    for (double* each : {&m.peak.bf16, &m.peak.fp16, &m.peak.fp8, &m.peak.fp4, &m.peak.tf32})
      *each *= times;
    m.peak.fp16 = flops;
    if (!is_old) m.peak.bf16 = flops;
  }
  auto const figure = [&](char const* key, double& is) {
    is = file.real(key, 1e-3, given ? is : given);
  };
  figure("node_bytes_per_s", m.inside);
  figure("network_bytes_per_s", m.outside);
  figure("memory_bytes", m.memory_bytes);
  m.memory_bandwidth = file.real("memory_bytes_per_s", 1, m.memory_bandwidth);
  if (file.has("flops_fp32")) m.peak.tf32 = m.peak.fp32 = file.real("flops_fp32", 1);
  m.products = file.real("products", 1, 0);
  m.exchange = file.real("exchange", 1e-3, 0);
  if (like.empty()) m.domain = per_node;
  return {m, nodes * per_node, name};
}

// Whether reports can print the name in a list.
bool is_plain(std::string const& name) {
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-'
           || c == '_' || c == '.';
  });
}

ashlar::cost::cluster kinds_file(json_object& file) {
  ashlar::cost::cluster made;
  made.kinds.clear();
  for (json_object& each : file.objects("kinds")) {
    if (made.kinds.size() == most_kinds)
      each.fail(fmt::format("is one kind too many: at most {} are planned", most_kinds));
    std::string const name = each.word("name", "");
    if (!is_plain(name))
      each.fail("must have a \"name\" of 1 to 32 letters, digits, dots, dashes and underscores");
    for (device_kind const& other : made.kinds)
      if (other.name == name) each.fail(fmt::format("has the name of another kind, \"{}\"", name));
    int const left = most_cluster_size - (made.kinds.empty() ? 0 : made.device_count());
    made.kinds.push_back(kind_of(each, name, left));
    each.must_be_all();
  }
  made.between_kinds = file.real("between_kinds_bytes_per_s", 1, 0);
  if (made.kinds.size() == 1 && made.between_kinds > 0)
    file.fail("has \"between_kinds_bytes_per_s\" and one kind alone");
  file.must_be_all();
  return made;
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

namespace {

// Reads NODESxDEVICESxKIND, or DEVICESxKIND. `whole`: all that was asked for.
device_kind named_kind(std::string_view text, std::string const& whole) {
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  while (parts.size() < 2) {
    auto const x = rest.find('x');
    if (x == std::string_view::npos || !is_number(rest.substr(0, x))) break;
    parts.push_back(rest.substr(0, x));
    rest.remove_prefix(x + 1);
  }
  if (parts.empty()) {
    if (text.size() < whole.size())
      throw usage_error(fmt::format("--cluster: '{}' is not NODESxDEVICESxKIND", text.substr(0, 64)));
    sheet_named(text);  // reports a near miss
    throw usage_error(
        fmt::format("--cluster is NODESxDEVICESxKIND as 16x8x{0}, or a file, not '{0}'", text));
  }
  machine_sheet const& sheet = sheet_named(rest);
  int nodes = 1;
  if (parts.size() == 2) nodes = number_within<int>("--cluster: nodes", parts[0], 1, most_cluster_size);
  device_kind made{sheet.machine, 1, sheet.name};
  made.device.per_node =
      number_within<int>("--cluster: devices of a node", parts.back(), 1, most_cluster_size / nodes);
  made.devices = nodes * made.device.per_node;
  return made;
}

}  // namespace

ashlar::cost::cluster read_cluster(std::string const& text) {
  bool const is_file =
      text == "-" || text.find('/') != std::string::npos
      || (text.find('.') != std::string::npos && !is_number(text.substr(0, text.find('x'))));
  if (is_file) return cluster_in(read_json_text(text));
  ashlar::cost::cluster made;
  made.kinds.clear();
  for (std::string_view rest = text;;) {
    std::size_t const plus = rest.find('+', rest.empty() ? 0 : 1);
    device_kind kind = named_kind(rest.substr(0, plus), text);
    for (device_kind const& other : made.kinds)
      if (other.name == kind.name) throw usage_error(fmt::format("--cluster names {} twice", kind.name));
    made.kinds.push_back(std::move(kind));
    if (made.kinds.size() > most_kinds)
      throw usage_error(fmt::format("--cluster has more than {} kinds", most_kinds));
    if (plus == std::string_view::npos) break;
    rest.remove_prefix(plus + 1);
  }
  must_be_small(made, text);
  return made;
}

std::string name_of(ashlar::cost::cluster const& c) {
  std::string all;
  for (device_kind const& each : c.kinds)
    all += fmt::format("{}{}x{}x{}", all.empty() ? "" : "+", each.devices / each.device.per_node,
                       each.device.per_node, each.name);
  return all;
}

ashlar::cost::cluster cluster_in(json_text const& text) {
  bool const has_kinds = text.root().is_object() && text.root().contains("kinds"),
             has_figures = text.root().is_object()
                           && (text.root().contains("flops") || text.root().contains("like"));
  if (has_kinds || has_figures) {
    json_object file(text);
    if (has_kinds) return kinds_file(file);
    ashlar::cost::cluster made;
    made.kinds = {kind_of(file, text.path, most_cluster_size)};
    file.must_be_all();
    return made;
  }
  ashlar::json_cluster const read = ashlar::read_json_cluster(text);
  if (read.nodes > most_cluster_size / read.sheet.machine.per_node)
    throw usage_error(
        fmt::format("--cluster: '{}' must have at most {} devices", text.path, most_cluster_size));
  return {read.sheet.machine, read.nodes * read.sheet.machine.per_node,
          read.sheet.name.empty() ? text.path : read.sheet.name};
}

std::string word_of(ashlar::cost::cluster const& c) {
  for (device_kind const& each : c.kinds) {
    bool const is_known =
        std::any_of(known_machines().begin(), known_machines().end(), [&](machine_sheet const& s) {
          machine known = s.machine;
          known.per_node = each.device.per_node;
          known.is_measured = each.device.is_measured;
          return s.name == each.name && known == each.device;
        });
    if (!is_known) return {};
  }
  return c.between_kinds > 0 ? "" : name_of(c);
}

}  // namespace tool
