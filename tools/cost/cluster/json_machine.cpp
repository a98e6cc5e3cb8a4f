#include <ashlar/cost/cluster/json_machine.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_reader.hpp>
#include <ashlar/interop/near_names.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace ashlar::json_detail {

using cost::generation;
using nlohmann::json;

inline constexpr std::array generation_names{std::pair{"volta", generation::volta},
                                             std::pair{"ampere", generation::ampere},
                                             std::pair{"ada", generation::ada},
                                             std::pair{"hopper", generation::hopper},
                                             std::pair{"blackwell", generation::blackwell},
                                             std::pair{"blackwell-ultra", generation::blackwell_ultra},
                                             std::pair{"cdna2", generation::cdna2},
                                             std::pair{"cdna3", generation::cdna3},
                                             std::pair{"cdna4", generation::cdna4}};

class sheet_reader : json_reader {
 public:
  explicit sheet_reader(json_text const& source) : json_reader(source), root_(source.root()) {
    if (!root_.is_object()) fail(root_, "a data sheet must be a JSON object");
  }

  json_machine sheet() const {
    json_machine s;
    s.name = root_.contains("name") ? text(root_["name"], "name") : "";
    if (root_.contains("names"))
      for (json const& each : list(root_["names"], "names")) s.names.push_back(text(each, "names"));
    cost::machine& m = s.machine;
    m.built = built();
    json const& peaks = object(at(root_, "peak_flops"), "peak_flops");
    m.peak = rates(peaks);
    if (!(cost::peak(m, cost::number_format::bf16) > 0)
        || !(cost::peak(m, cost::number_format::fp32) > 0))
      fail(peaks, "\"peak_flops\" must have fp32, and fp16 or bf16");
    m.memory_bytes = figure(root_, "memory_bytes");
    m.memory_bandwidth = figure(root_, "memory_bandwidth");
    m.inside = figure(root_, "link_inside");
    if (root_.contains("link_pair")) m.pair = figure(root_, "link_pair");
    m.outside = figure(root_, "link_outside");
    m.domain = count("domain");
    m.per_node = count("devices_per_node");
    m.units = figure(root_, "units");
    m.exponentials = figure(root_, "exponentials");
    m.power = figure(root_, "power_watts");
    for (char const* each : host_keys)
      if (root_.contains(each))
        m.host = {.link = figure(root_, host_keys[0]),
                  .memory_bytes = figure(root_, host_keys[1]),
                  .memory_bandwidth = figure(root_, host_keys[2])};
    return s;
  }

  cost::peak_rates rates(json const& peaks) const {
    cost::peak_rates p;
    std::array const named{std::pair{"fp32", &p.fp32}, std::pair{"tf32", &p.tf32},
                           std::pair{"fp16", &p.fp16}, std::pair{"bf16", &p.bf16},
                           std::pair{"fp8", &p.fp8},   std::pair{"fp4", &p.fp4}};
    std::vector<std::string> known;
    for (auto const& [format, rate] : named) {
      known.emplace_back(format);
      if (peaks.contains(format)) *rate = figure(peaks, format);
    }
    must_be_one_of(peaks, known);
    return p;
  }

  int count(char const* key) const {
    return static_cast<int>(whole(valued(root_, key), key, 1, input_limits::cluster_devices));
  }

  // Refuses unknown keys, so that a misspelt one is not ignored.
  void must_be_known(bool may_have_nodes) const {
    std::vector<std::string> known{"name",         "names",        "generation",  "devices_per_node",
                                   "peak_flops",   "memory_bytes", "link_inside", "memory_bandwidth",
                                   "link_outside", "domain",       "units",       "exponentials",
                                   "power_watts",  "link_pair"};
    known.insert(known.end(), host_keys.begin(), host_keys.end());
    if (may_have_nodes) known.emplace_back("nodes");
    must_be_one_of(root_, known);
  }

 private:
  void must_be_one_of(json const& keys, std::vector<std::string> const& known) const {
    for (auto const& [key, value] : keys.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        fail(value, "\"" + key.substr(0, 64) + "\" means nothing here" + did_you_mean(key, known));
  }

  // Keys of a device's share of its host. A file has all of them, or none.
  static constexpr std::array host_keys{"host_link", "host_memory_bytes", "host_memory_bandwidth"};

  json const& valued(json const& object, char const* key) const {
    json const& found = at(object, key);
    return found.is_object() ? at(found, "value") : found;
  }
  double figure(json const& object, char const* key) const {
    return number(valued(object, key), key, 1e-3, 1e21);
  }

  generation built() const {
    json const& found = at(root_, "generation");
    std::string word = text(found, "generation");
    std::replace(word.begin(), word.end(), '_', '-');
    std::string all;
    for (auto const& [name, g] : generation_names) {
      if (word == name) return g;
      all += " " + std::string(name);
    }
    fail(found, "\"generation\" must be one of:" + all);
  }

  json const& root_;
};

}  // namespace ashlar::json_detail

namespace ashlar {

json_machine read_json_machine(json_text const& source) {
  json_detail::sheet_reader const reader(source);
  reader.must_be_known(false);
  return reader.sheet();
}

json_cluster read_json_cluster(json_text const& source) {
  json_detail::sheet_reader const reader(source);
  reader.must_be_known(true);
  json_machine sheet = reader.sheet();
  return {std::move(sheet), reader.count("nodes")};
}

nlohmann::ordered_json json_of(json_cluster const& cluster) {
  cost::machine const& m = cluster.sheet.machine;
  nlohmann::ordered_json made, peaks;
  auto const add = [](nlohmann::ordered_json& to, char const* key, double figure) {
    if (figure > 0) to[key] = figure;
  };
  if (!cluster.sheet.name.empty()) made["name"] = cluster.sheet.name;
  made["nodes"] = cluster.nodes;
  made["devices_per_node"] = m.per_node;
  for (auto const& [name, g] : json_detail::generation_names)
    if (g == m.built) made["generation"] = name;
  add(peaks, "fp32", m.peak.fp32);
  add(peaks, "tf32", m.peak.tf32);
  add(peaks, "fp16", m.peak.fp16);
  add(peaks, "bf16", m.peak.bf16);
  add(peaks, "fp8", m.peak.fp8);
  add(peaks, "fp4", m.peak.fp4);
  made["peak_flops"] = std::move(peaks);
  add(made, "memory_bytes", m.memory_bytes);
  add(made, "memory_bandwidth", m.memory_bandwidth);
  add(made, "link_inside", m.inside);
  add(made, "link_pair", m.pair);
  add(made, "link_outside", m.outside);
  made["domain"] = m.domain;
  add(made, "units", m.units);
  add(made, "exponentials", m.exponentials);
  add(made, "power_watts", m.power);
  add(made, "host_link", m.host.link);
  add(made, "host_memory_bytes", m.host.memory_bytes);
  add(made, "host_memory_bandwidth", m.host.memory_bandwidth);
  return made;
}

json_machine read_json_machine(std::string text, std::string path) {
  return read_json_machine(parse_json(std::move(text), std::move(path)));
}

json_cluster read_json_cluster(std::string text, std::string path) {
  return read_json_cluster(parse_json(std::move(text), std::move(path)));
}

}  // namespace ashlar
