// Clusters by name and from files.
#include "command.hpp"
#include "files/json_object.hpp"
#include "options/number_option.hpp"
#include "plan/plan_files.hpp"
#include "predict/machines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

// Fitted to eight published steps of Megatron on A100s (examples/studies/megatron).
constexpr ashlar::step_constants megatron_constants{.products = 1.346, .exchange = 3.85};

constexpr int most_cluster_devices = 16384;
constexpr std::size_t most_kinds = 4;  // their orders are 64

// Reads NODESxDEVICESxKIND, or DEVICESxKIND for one node; false if the text has another form. Throws
// usage_error for a device without a data sheet.
bool is_preset(std::string_view text, named_kind& found) {
  int nodes = 1, node_size = 0;
  std::size_t x = text.find('x');
  if (x == std::string_view::npos || !read_number(text.substr(0, x), node_size)) return false;
  std::string_view kind = text.substr(x + 1);
  x = kind.find('x');
  if (int second = 0; x != std::string_view::npos && read_number(kind.substr(0, x), second)) {
    nodes = std::exchange(node_size, second);
    kind.remove_prefix(x + 1);
  }
  if (kind.find_first_of("./") != std::string_view::npos) return false;
  machine_sheet const& sheet = sheet_named(kind);
  ashlar::cost::machine const& m = sheet.machine;
  if (nodes < 1 || node_size < 1 || nodes > most_cluster_devices / node_size)
    throw usage_error(fmt::format("--cluster '{}' must be of 1 to {} devices", text.substr(0, 64),
                                  most_cluster_devices));
  found = {sheet.name,
           {{.flops = m.peak.bf16 > 0 ? m.peak.bf16 : m.peak.fp16,
             .inside = m.inside,
             .between = m.outside,
             .memory = m.memory_bytes,
             .node_size = node_size},
            megatron_constants,
            nodes * node_size},
           m.peak.fp32,
           m.peak.bf16 > 0};
  return true;
}

// Reads several of them with + between.
bool is_preset(std::string const& name, named_cluster& found) {
  std::string_view rest = name;
  for (bool ends = false; !ends;) {
    std::size_t const plus = rest.find('+');
    std::string_view const part = rest.substr(0, plus);
    named_kind kind;
    if (!is_preset(part, kind)) {
      if (found.kinds.empty()) return false;
      throw usage_error(fmt::format("--cluster: '{}' is not NODESxDEVICESxKIND", part.substr(0, 64)));
    }
    for (named_kind const& other : found.kinds)
      if (other.name == kind.name) throw usage_error(fmt::format("--cluster names {} twice", kind.name));
    found.kinds.push_back(kind);
    ends = plus == std::string_view::npos;
    if (!ends) rest.remove_prefix(plus + 1);
  }
  if (found.device_count() > most_cluster_devices)
    throw usage_error(fmt::format("--cluster '{}' must be of 1 to {} devices", name.substr(0, 64),
                                  most_cluster_devices));
  found.name = name;
  found.source = "data sheets";
  return true;
}

// The figures of one kind: those of the file itself, or of one of its list. `other_devices` are read.
named_kind kind_of(json_object& file, int other_devices) {
  int const nodes = static_cast<int>(file.number("nodes", 1, most_cluster_devices));
  int const node_size =
      static_cast<int>(file.number("devices_per_node", 1, most_cluster_devices / nodes));
  if (nodes * node_size > most_cluster_devices - other_devices)
    file.fail(fmt::format("makes more than {} devices with the others", most_cluster_devices));
  named_kind made;
  made.kind.count = nodes * node_size;
  made.kind.machine = {.flops = file.real("flops", 1),
                       .inside = file.real("node_bytes_per_s", 1),
                       .between = file.real("network_bytes_per_s", 1),
                       .memory = file.real("memory_bytes", 1),
                       .node_size = node_size};
  made.wide_flops = file.real("flops_fp32", 1, 0);
  made.kind.constants = {.products = file.real("products", 1, megatron_constants.products),
                         .exchange = file.real("exchange", 0, megatron_constants.exchange)};
  return made;
}

// Whether a report can print the name in a list.
bool is_plain(std::string const& name) {
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-'
           || c == '_' || c == '.';
  });
}

void read_kinds(json_object& file, named_cluster& made) {
  for (json_object& each : file.objects("kinds")) {
    if (made.kinds.size() == most_kinds)
      each.fail(fmt::format("is one kind too many: at most {} are planned", most_kinds));
    std::string const name = each.word("name", "");
    if (!is_plain(name))
      each.fail("must have a \"name\" of 1 to 32 letters, digits, dots, dashes and underscores");
    named_kind kind = kind_of(each, made.device_count());
    each.must_be_all();
    kind.name = name;
    for (named_kind const& other : made.kinds)
      if (other.name == name) each.fail(fmt::format("has the name of another kind, \"{}\"", name));
    made.kinds.push_back(std::move(kind));
  }
  made.between_kinds = file.real("between_kinds_bytes_per_s", 1, 0);
  if (made.kinds.size() == 1 && made.between_kinds > 0)
    file.fail("has \"between_kinds_bytes_per_s\" and one kind alone");
}

}  // namespace

int named_cluster::device_count() const {
  int sum = 0;
  for (named_kind const& each : kinds) sum += each.kind.count;
  return sum;
}

named_cluster read_cluster(std::string const& name_or_file) {
  named_cluster made;
  if (is_preset(name_or_file, made)) return made;
  json_object file(name_or_file);
  made.name = name_or_file;
  made.source = "its file";
  if (file.has("kinds"))
    read_kinds(file, made);
  else
    made.kinds.push_back(kind_of(file, 0));
  file.must_be_all();
  return made;
}

}  // namespace tool
