#include "files/measured_costs.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace tool {

namespace {

using nlohmann::ordered_json;

double rounded(double value) { return std::round(value * 10) / 10; }

ordered_json json_of(spread const& s) {
  return {{"median", rounded(s.median)},
          {"lower_quartile", rounded(s.low)},
          {"upper_quartile", rounded(s.high)},
          {"samples", s.samples}};
}

ordered_json json_of(measured_link const& l) {
  return {{"latency", json_of(l.latency)}, {"bytes_per_second", std::round(l.bytes_per_second)}};
}

}  // namespace

ordered_json json_of(measured_costs const& m) {
  ordered_json stages = ordered_json::array();
  for (auto const& measured : m.stages) {
    ordered_json& stage = stages.emplace_back(ordered_json::object());
    for (std::size_t kind = 0; kind < measured.size(); ++kind)
      if (measured[kind].samples > 0) stage[measured_passes[kind]] = json_of(measured[kind]);
  }
  ordered_json all{{"unit", "ns"},
                   {"measured", m.about},
                   {"stages", std::move(stages)},
                   {"message_bytes", m.message}};
  if (m.inside) all["links"]["inside"] = json_of(*m.inside);
  if (m.between) all["links"]["between"] = json_of(*m.between);
  if (m.inside) all["links"]["node_size"] = m.node_size;
  if (m.ring) all["collective"] = json_of(*m.ring);
  return {{"costs", std::move(all)}};
}

}  // namespace tool
