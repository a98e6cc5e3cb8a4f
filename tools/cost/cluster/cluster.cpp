#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/cluster/cluster.hpp>

#include <cstddef>

namespace ashlar::cost {

int cluster::device_count() const {
  int all = 0;
  for (device_kind const& each : kinds) all += each.devices;
  return all;
}

double node_count(cluster const& c) {
  double nodes = 0;
  for (device_kind const& each : c.kinds) nodes += 1.0 * each.devices / each.device.per_node;
  return nodes;
}

bool has_several_nodes(cluster const& c) {
  return c.has_several_kinds() || c.kinds.front().devices > c.device().per_node;
}

int domain_of(cluster const& c) {
  machine const& m = c.device();
  return min_of(m.domain, m.domain > m.per_node ? c.kinds.front().devices : m.per_node);
}

double mean_peak(cluster const& c, number_format f) {
  double const first = peak(c.device(), f);
  double more = 0;
  for (device_kind const& each : c.kinds) more += (peak(each.device, f) - first) * each.devices;
  return first + more / c.device_count();
}

bool knows_hosts(cluster const& c) {
  for (device_kind const& each : c.kinds)
    if (!each.device.host.is_known()) return false;
  return true;
}

std::vector<std::vector<int>> orders_of_kinds(int kind_count) {
  std::vector<std::vector<int>> all, of_last_length{{}};
  for (int length = 1; length <= kind_count; ++length) {
    std::vector<std::vector<int>> longer;
    for (std::vector<int> const& shorter : of_last_length)
      for (int k = 0; k < kind_count; ++k) {
        bool is_new = true;
        for (int each : shorter) is_new = is_new && each != k;
        if (!is_new) continue;
        longer.push_back(shorter);
        longer.back().push_back(k);
      }
    all.insert(all.end(), longer.begin(), longer.end());
    of_last_length = longer;
  }
  return all;
}

cluster of_kinds(cluster const& c, std::vector<int> const& kinds) {
  cluster made = c;
  made.kinds.clear();
  for (int each : kinds) made.kinds.push_back(c.kinds[static_cast<std::size_t>(each)]);
  return made;
}

machine const& newest_of(cluster const& c) {
  device_kind const* newest = &c.kinds.front();
  for (device_kind const& each : c.kinds)
    if (each.device.built > newest->device.built) newest = &each;
  return newest->device;
}

namespace cluster_detail {

// Rates of formats that one of the two lacks are zero: both compute in what they share.
inline peak_rates slower(peak_rates const& a, peak_rates const& b) {
  return {.fp32 = min_of(a.fp32, b.fp32),
          .tf32 = min_of(a.tf32, b.tf32),
          .fp16 = min_of(a.fp16, b.fp16),
          .bf16 = min_of(a.bf16, b.bf16),
          .fp8 = min_of(a.fp8, b.fp8),
          .fp4 = min_of(a.fp4, b.fp4)};
}

inline machine slower(machine const& a, machine const& b) {
  // The kernels of the one whose products take longer decide.
  machine made = peak(a, number_format::bf16) <= peak(b, number_format::bf16) ? a : b;
  made.peak = slower(a.peak, b.peak);
  for (double machine::*figure :
       {&machine::memory_bytes, &machine::memory_bandwidth, &machine::inside, &machine::outside,
        &machine::units, &machine::exponentials, &machine::power})
    made.*figure = min_of(a.*figure, b.*figure);
  made.domain = min_of(a.domain, b.domain);
  made.per_node = min_of(a.per_node, b.per_node);
  made.host = {.link = min_of(a.host.link, b.host.link),
               .memory_bytes = min_of(a.host.memory_bytes, b.host.memory_bytes),
               .memory_bandwidth = min_of(a.host.memory_bandwidth, b.host.memory_bandwidth)};
  made.products = max_of(a.products, b.products);
  made.exchange = max_of(a.exchange, b.exchange);
  made.is_measured = a.is_measured && b.is_measured;
  return made;
}

}  // namespace cluster_detail

cluster slowest_of(cluster const& c, std::vector<int> const& kinds) {
  auto const at = [&](std::size_t i) { return c.kinds[static_cast<std::size_t>(kinds[i])]; };
  device_kind all = at(0);
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    all.device = cluster_detail::slower(all.device, at(i).device);
    all.devices += at(i).devices;
    all.name += "+" + at(i).name;
  }
  if (kinds.size() > 1 && c.between_kinds > 0)
    all.device.outside = min_of(all.device.outside, c.between_kinds);
  return {all.device, all.devices, all.name};
}

}  // namespace ashlar::cost
