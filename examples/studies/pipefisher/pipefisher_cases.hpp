// Cases: schedules of the catalog, work modelled after measured layers.
#pragma once

#include "pipefisher_profiles.hpp"
#include "pipefisher_scores.hpp"
#include <ashlar/catalog/entries.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace systems {

using namespace ashlar;
using nlohmann::json;

inline tick nanoseconds(double milliseconds) { return std::llround(milliseconds * 1e6); }

// The six linear modules of a layer, inner four times as wide as outer, and the widths of their factors
// in units of the model's. Curvature costs their squares, inversion their cubes.
struct module_widths {
  char const* name;
  int inputs, outputs;
};
inline constexpr module_widths modules[] = {
    {"attention.self.query", 1, 1},   {"attention.self.key", 1, 1}, {"attention.self.value", 1, 1},
    {"attention.output.dense", 1, 1}, {"intermediate.dense", 1, 4}, {"output.dense", 4, 1}};

inline std::vector<work_event> modelled_work(refresh_times const& t, int layers,
                                             int micro_batches_of_route, int routes) {
  int squares = 0, cubes = 0;
  for (module_widths const& m : modules)
    for (int w : {m.inputs, m.outputs}) {
      squares += w * w;
      cubes += w * w * w;
    }
  std::vector<work_event> events;
  tick start = 0;
  auto const add = [&](work_class of, int route, int layer, module_widths const& m, tick duration) {
    std::string label = class_names[static_cast<std::size_t>(of)];
    label += ":l" + std::to_string(layer) + "." + m.name + (route == 0 ? "" : up);
    events.push_back({label, of, start++, duration});
  };
  for (int route = 0; route < routes; ++route) {
    for (int layer = 0; layer < layers; ++layer)
      for (module_widths const& m : modules)
        for (work_class of : {work_class::curvature_a, work_class::curvature_b}) {
          int const w = of == work_class::curvature_a ? m.inputs : m.outputs;
          add(of, route, layer, m, nanoseconds(t.curvature) * micro_batches_of_route * w * w / squares);
        }
    for (work_class of : {work_class::inversion_a, work_class::inversion_b})
      for (int layer = 0; layer < layers; ++layer)
        for (module_widths const& m : modules) {
          int const w = of == work_class::inversion_a ? m.inputs : m.outputs;
          add(of, route, layer, m, nanoseconds(t.inversion) * w * w * w / cubes / routes);
        }
  }
  return events;
}

inline void compare_case(json const& row, profiles const& all, report& r, best_fit_scores& scores) {
  std::string const kind = row.at("schedule");
  int const p = row.at("stages"), m = row.at("n_micro"), layers = row.at("layers_per_stage");
  std::string const name = std::string(row.at("model")) + " on " + std::string(row.at("gpu")) + ", "
                           + kind + ", " + std::to_string(p) + " stages, " + std::to_string(m)
                           + " micro-batches: ";
  refresh_times const t = all.of(row.at("model"), row.at("gpu"), row.at("micro_batch"));
  tick const forward = layers * nanoseconds(t.forward), backward = layers * nanoseconds(t.backward);
  r.same(name + "tf_ns", forward, row.at("tf_ns").get<tick>());
  r.same(name + "tb_ns", backward, row.at("tb_ns").get<tick>());
  auto const entry = catalog::find(kind);
  if (!entry) throw std::runtime_error("no schedule " + kind);
  schedule step = entry->make(
      {.p = devices{p}, .m = micro_batches{m}, .cost = costs(stage_cost{forward, backward - 1, 1})});
  int const routes = step.where.route_count();
  tick const length = makespan(step);
  r.same(name + "makespan", length, row.at("makespan_ns").get<tick>());
  std::vector<work_event> const work = modelled_work(t, layers, m / routes, routes);
  tick const own = m * (forward + backward);
  double const extra = layers * (m * t.curvature + t.inversion),
               bubble = static_cast<double>(length - own) / 1e6;
  r.near(name + "extra_work_ms", extra, row.at("extra_work_ms"), 0, 1e-4);
  r.near(name + "bubble_ms", bubble, row.at("bubble_ms"), 0, 1e-4);
  r.same(name + "lower_bound_steps", static_cast<int>(std::ceil(extra / bubble)),
         row.at("lower_bound_steps").get<int>());
  r.near(name + "step_overhead_precond_pct",
         100 * layers * routes * t.precondition / (static_cast<double>(length) / 1e6),
         row.at("step_overhead_precond_pct"), 0, 1e-3);
  instance const i = make_instance(
      std::move(step), std::vector<std::vector<work_event>>(static_cast<std::size_t>(p), work));
  filling const f = published(i);
  std::vector<int> const steps = row.at("pipeline_steps_per_refresh");
  for (std::size_t d = 0; d < steps.size(); ++d) {
    std::string const device = " of device " + std::to_string(d);
    r.near(name + "base utilisation" + device,
           100 * static_cast<double>(own) / static_cast<double>(length),
           row.at("base_utilisation_pct").at(d), 0, 1e-4);
    r.same(name + "steps" + device, f.steps[d], steps[d]);
    r.near(name + "utilisation" + device, published_utilisation(i, f, static_cast<int>(d)),
           row.at("utilisation_pct").at(d), 0, 0.01);
  }
  scores.add(i, steps, name, r);
}

}  // namespace systems
