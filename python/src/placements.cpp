// Placements: on which device each stage is.
#include "bindings.hpp"
#include <ashlar/model/placement.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace python {

namespace {

std::vector<std::vector<int>> routes_of(ashlar::placement const& where) {
  std::vector<std::vector<int>> all(static_cast<std::size_t>(where.route_count()));
  for (std::size_t route = 0; route < all.size(); ++route)
    for (int stage = 0; stage < where.stage_count(); ++stage)
      all[route].push_back(where.device_of(static_cast<int>(route), stage));
  return all;
}

std::string words_of(ashlar::placement const& where) {
  std::string text;
  for (auto const& route : routes_of(where)) {
    text += text.empty() ? "[" : ", [";
    for (std::size_t stage = 0; stage < route.size(); ++stage)
      text += (stage == 0 ? "" : ", ") + std::to_string(route[stage]);
    text += "]";
  }
  return "Placement([" + text + "])";
}

ashlar::placement make_placement(std::vector<std::vector<int>> const& routes) {
  int most = -1;
  for (auto const& route : routes)
    for (int const device : route)
      most = std::max(most, within("a device", device, 0, limits::devices - 1));
  return {ashlar::devices{most + 1}, routes};
}

}  // namespace

void bind_placements(nb::module_& m) {
  using ashlar::placement;
  nb::class_<placement> of_placements(m, "Placement", "On which device each stage is, for each route.");
  of_placements
      .def(
          "__init__",
          [](placement* made, std::vector<std::vector<int>> const& routes) {
            new (made) placement(make_placement(routes));
          },
          "routes"_a, "The device of each stage, a list for each route.")
      .def_prop_ro("device_count", &placement::device_count)
      .def_prop_ro("stage_count", &placement::stage_count)
      .def_prop_ro("routes", &routes_of)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__repr__", [](placement const& p) { return words_of(p); });
  refuse_others(of_placements);
  m.def(
      "linear", [](long long p) { return ashlar::linear(device_count(p)); }, "devices"_a,
      "Stage i on device i.");
  m.def(
      "looped",
      [](long long p, long long v) {
        return ashlar::looped(device_count(p), ashlar::chunks{within("chunks", v, 1, limits::devices)});
      },
      "devices"_a, "chunks"_a, "Round and round the devices.");
  m.def(
      "v_shape", [](long long p) { return ashlar::v_shape(device_count(p)); }, "devices"_a,
      "Down the devices and up again.");
  m.def(
      "wave",
      [](long long p, long long w) {
        return ashlar::wave(device_count(p), ashlar::waves{within("waves", w, 1, limits::devices)});
      },
      "devices"_a, "waves"_a, "Down the devices and up again, several times.");
  m.def(
      "overlay_placements", [](placement const& a, placement const& b) { return overlay(a, b); }, "a"_a,
      "b"_a, "The routes of both.");
  m.def(
      "mirror_placement", [](placement const& p) { return mirror(p); }, "placement"_a,
      "Device d becomes p - 1 - d.");
}

}  // namespace python
