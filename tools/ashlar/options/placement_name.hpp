// The word for a placement.
#pragma once

#include <ashlar/model/placement.hpp>

#include <string>
#include <vector>

namespace tool {

// The word for one route.
inline std::string route_name(ashlar::placement const& where, int route) {
  using namespace ashlar;
  std::vector<int> by_stage;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    by_stage.push_back(where.device_of(route, stage));
  devices const p{where.device_count()};
  placement const alone(p, {by_stage}), back = mirror(alone);
  auto const is = [&](placement const& known) { return alone == known || back == known; };
  int const v = where.stage_count() / p.value;
  if (is(linear(p))) return "linear";
  if (v * p.value != where.stage_count()) return "irregular";
  if (v == 2 && is(v_shape(p))) return "V-shape";
  if (is(looped(p, chunks{v}))) return "looped";
  if (v > 2 && v % 2 == 0 && is(wave(p, waves{v / 2}))) return "wave";
  return "irregular";
}

inline std::string placement_name(ashlar::placement const& where) {
  std::string const first = route_name(where, 0);
  int const routes = where.route_count();
  if (routes == 1) return first;
  return routes == 2 ? first + ", both ways" : first + ", " + std::to_string(routes) + " routes";
}

}  // namespace tool
