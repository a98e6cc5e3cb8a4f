// Modules with grids of their own: each a pipeline on its own devices, with as many replicas as it
// needs.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/placement.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// A module of a model, as an encoder or a decoder: consecutive stages with a device each, and the number
// of replicas of this pipeline, all on other devices.
struct module_grid {
  stages length;
  int replicas = 1;
};

// The most routes of modules beside each other.
inline constexpr int most_routes = 1 << 16;

// Puts modules beside each other. Stages and devices are numbered module after module, devices of a
// module replica after replica. A route takes one replica of each module, and there are as many as the
// least common multiple of the replicas, so that micro-batches that take routes in turns are dealt
// evenly to the replicas of every module. Holders of a stage sum its gradient, as on any routes.
// Throws violation: rule::counts_are_positive, rule::parameter_is_at_most for more than most_stages
// stages or devices, or most_routes.
constexpr placement in_grids(std::vector<module_grid> const& modules) {
  std::int64_t count = 0, device_total = 0, routes = 1;
  for (module_grid const& m : modules) {
    if (m.length.value < 1 || m.replicas < 1)
      refuse({.broken = rule::counts_are_positive, .number = min_of(m.length.value, m.replicas)});
    count += m.length.value;
    device_total += std::int64_t{m.length.value} * m.replicas;
    routes *= m.replicas / greatest_common_divisor<std::int64_t>(routes, m.replicas);
    must_be(at_most(parameter::stage_count, count, most_stages));
    must_be(at_most(parameter::device_count, device_total, most_stages));
    must_be(
        at_most(parameter::route_count, routes, min_of<std::int64_t>(most_routes, most_stages / count)));
  }
  std::vector<std::vector<int>> all;
  for (int route = 0; route < routes; ++route) {
    std::vector<int> one;
    int first = 0;
    for (module_grid const& m : modules) {
      for (int s = 0; s < m.length.value; ++s)
        one.push_back(first + route % m.replicas * m.length.value + s);
      first += m.length.value * m.replicas;
    }
    all.push_back(one);
  }
  return placement(devices{static_cast<int>(device_total)}, all);
}

}  // namespace ashlar
