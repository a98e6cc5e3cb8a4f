// Second-order work in the bubbles of GPipe, 1F1B and Chimera (PipeFisher, arXiv 2211.14133): whole
// schedules, label by label, and steps and utilisation of cases made of measured layers (DATA_DIR holds
// layer_profiles.csv). best_fit is held against that and against the bound, under the same margin and
// the same order of work: each refresh by itself, and interlocked with the next one.
#include "../report.hpp"
#include "pipefisher_profiles.hpp"
#include "pipefisher_work.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/fill/early_work.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/fill/step_bound.hpp>
#include <ashlar/model/work_lists.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ashlar;
using nlohmann::json;
using systems::instance;
using systems::work_class;
using systems::work_event;

constexpr int margin = 5;

filling published(instance const& i) {
  return fill_steps(
      i.step, i.work,
      {.policy = fill_policy::first_fit, .ready = fill_readiness::published_counts, .margin = margin});
}

// In percent. A job that is left when a step has taken nothing is appended whole, and counts whole,
// though pieces of it may have been placed before.
double published_utilisation(instance const& i, filling const& f, int device) {
  auto const d = static_cast<std::size_t>(device);
  tick const end = f.steps[d] * f.step;
  tick busy = 0;
  std::set<int> left;
  for (timed_pass const& t : f.filled.order[d])
    if (t.start < end && !t.closes_pair())
      busy += f.filled.end_of(t, device) - t.start;
    else if (is_part(t.what))
      left.insert(part_of(t.what).job);
  for (int job : left) busy += i.events[static_cast<std::size_t>(job)].duration;
  return 100 * static_cast<double>(busy) / static_cast<double>(end);
}

struct best_fit_score {
  std::size_t devices = 0, not_worse = 0;
  std::size_t impossible = 0;  // fewer steps than published work after its inputs can take
};

// What holds of best_fit.
void hold_best_fit(instance const& i, std::vector<int> const& published_steps, std::string const& name,
                   bool interlocked, systems::report& r, best_fit_score& score) {
  fill_options o{.policy = fill_policy::best_fit, .margin = margin, .interlocked = interlocked};
  filling const best = fill_steps(i.step, i.work, o);
  r.holds(name + "best_fit places nothing before its inputs", early_work(best.filled).empty());
  part_times const times(i.step, i.work.view());
  std::vector<int> const bound = step_bound(i.step, best.step, times, o);
  o.policy = fill_policy::first_fit;
  std::vector<int> const first = fill_steps(i.step, i.work, o).steps;
  std::vector<bool> has_early(best.steps.size(), false);
  for (diagnosis const& d : early_work(published(i).filled))
    has_early[static_cast<std::size_t>(d.first.device)] = true;
  int const period = *std::max_element(best.steps.begin(), best.steps.end());
  if (interlocked)
    r.holds(name + "periods of best_fit follow each other without a pause",
            check(merge(best.filled, shift(best.filled, period * best.step))).ok());
  for (std::size_t d = 0; d < best.steps.size(); ++d) {
    std::string const on = " on device " + std::to_string(d);
    tick work = 0, idle = best.step;
    for (work_job const& j : jobs_of(i.work))
      for (work_part const& p : j.parts)
        if (p.device == static_cast<int>(d)) work += p.duration;
    for (timed_pass const& t : i.step.order[d]) idle -= i.step.end_of(t, static_cast<int>(d)) - t.start;
    r.holds(name + "best_fit is not below the bound" + on,
            idle * best.steps[d] >= work && best.steps[d] >= bound[d]);
    r.holds(name + "best_fit takes no more steps than first_fit" + on, best.steps[d] <= first[d]);
    bool const is_impossible = published_steps[d] < bound[d];
    r.holds(name + "what is published and below the bound is not in order" + on,
            !is_impossible || has_early[d]);
    ++score.devices;
    score.not_worse += best.steps[d] <= published_steps[d];
    score.impossible += is_impossible;
  }
}

// Both ways.
struct best_fit_scores {
  best_fit_score alone, interlocked;

  void add(instance const& i, std::vector<int> const& published_steps, std::string const& name,
           systems::report& r) {
    hold_best_fit(i, published_steps, name, false, r, alone);
    hold_best_fit(i, published_steps, name + "interlocked, ", true, r, interlocked);
  }
};

// --- Whole schedules: the events of each device.

std::size_t first_of_class(std::string const& label) {
  for (std::size_t k = 0; k < std::size(systems::class_names); ++k)
    if (label.find(systems::class_names[k]) != std::string::npos) return k;
  return std::size(systems::class_names);
}

std::vector<std::pair<tick, tick>> events_of(json const& timeline, std::string const& key) {
  if (!timeline.contains(key)) return {};
  return timeline.at(key).get<std::vector<std::pair<tick, tick>>>();
}

instance instance_of(json const& timelines) {
  int const p = static_cast<int>(timelines.size());
  std::size_t counts[2] = {};
  tick base = max_tick;
  for (int route = 0; route < 2; ++route) {
    std::string const key = std::string("call_forward") + (route == 0 ? "" : systems::up);
    counts[route] = events_of(timelines[0], key).size();
    for (auto const& event : events_of(timelines[0], key)) base = std::min(base, event.first);
  }
  std::vector<std::vector<timed_pass>> orders(timelines.size());
  std::vector<stage_cost> cost(timelines.size());
  std::vector<std::vector<work_event>> work(timelines.size());
  for (int d = 0; d < p; ++d) {
    auto const at = static_cast<std::size_t>(d);
    json const& timeline = timelines[at];
    for (int route = 0; route < 2; ++route)
      for (pass_kind kind : {pass_kind::forward, pass_kind::backward}) {
        int const stage = route == 0 ? d : p - 1 - d;
        int number = route == 0 ? 0 : static_cast<int>(counts[0]);
        std::string const key = (kind == pass_kind::forward ? "call_forward" : "call_backward")
                                + std::string(route == 0 ? "" : systems::up);
        for (auto const& [start, end] : events_of(timeline, key)) {
          orders[at].push_back({{kind, stage, number++}, start - base});
          stage_cost& c = cost[static_cast<std::size_t>(stage)];
          if (kind == pass_kind::forward)
            c.forward = end - start;
          else
            c = {c.forward, end - start - 1, 1};
        }
      }
    std::stable_sort(orders[at].begin(), orders[at].end(),
                     [](timed_pass const& a, timed_pass const& b) { return a.start < b.start; });
    for (auto const& [key, events] : timeline.items()) {
      std::size_t const of = first_of_class(key);
      if (of == std::size(systems::class_names)) continue;
      for (auto const& [start, end] : events_of(timeline, key))
        work[at].push_back({key, static_cast<work_class>(of), start, end - start});
    }
  }
  schedule s{.graph = chain(stages{p}),
             .where = counts[1] == 0 ? linear(devices{p})
                                     : overlay(linear(devices{p}), mirror(linear(devices{p}))),
             .route = std::vector<int>(counts[0], 0),
             .cost = costs(cost),
             .order = orders};
  s.route.resize(counts[0] + counts[1], 1);
  return systems::make_instance(std::move(s), std::move(work));
}

// As the published scheduler writes them, step by step.
std::vector<std::vector<std::string>> labels(instance const& i, filling const& f, std::size_t device) {
  auto const count = static_cast<std::size_t>(f.steps[device]);
  std::vector<std::vector<std::string>> all(count, {"-- start --"});
  std::vector<std::string> rest;
  for (timed_pass const& t : f.filled.order[device]) {
    auto const step = static_cast<std::size_t>(t.start / f.step);
    bool const works = is_part(t.what);
    if (step >= count && !works) continue;
    std::string label;
    if (works) {
      label = i.events[static_cast<std::size_t>(part_of(t.what).job)].label;
    } else {
      label = t.what.kind == pass_kind::forward ? "call_forward" : "call_backward";
      if (f.filled.route[static_cast<std::size_t>(t.what.micro_batch)] == 1) label += systems::up;
    }
    if (step < count)
      all[step].push_back(label);
    else if (rest.empty() || rest.back() != label)
      rest.push_back(label);
  }
  for (auto& step : all) step.push_back("-- end --");
  if (count > 1 || rest.empty()) all[0].push_back("turn_off_save_inputs_outgrads");
  for (auto const& label : rest) all.back().push_back(label);
  all.back().push_back("turn_on_save_inputs_outgrads");
  return all;
}

// Pieces of curvature and inversions that the published labels put before their inputs, and pieces in
// all, counted without the algebra.
std::pair<std::size_t, std::size_t> early_by_labels(json const& steps) {
  std::map<std::string, std::size_t> calls, done;
  std::size_t early = 0, pieces = 0;
  std::vector<std::size_t> inversions(2, 0);
  for (json const& step : steps)
    for (std::string const label : step) {
      if (label.rfind("call_", 0) == 0) ++calls[label];
      std::size_t const of = first_of_class(label);
      if (of > 5) continue;
      if (of >= 2) {
        if (of >= 4) ++inversions[of - 4];
        continue;
      }
      early += inversions[of];  // all so far come before this piece
      inversions[of] = 0;
      bool const is_up = label.find(systems::up) != std::string::npos;
      ++pieces;
      early +=
          calls[(of == 0 ? "call_forward" : "call_backward") + std::string(is_up ? systems::up : "")]
          <= done[label]++;
    }
  return {early, pieces};
}

void compare_schedules(json const& gold, systems::report& r, best_fit_scores& scores) {
  instance const i = instance_of(gold.at("timelines_ns"));
  if (diagnosis const d = check(i.step); !d.ok())
    throw std::runtime_error(std::string("the timelines are no schedule: ") + sentence(d.broken));
  filling const f = published(i);
  std::vector<int> steps;
  std::size_t early = 0, pieces = 0;
  for (std::size_t d = 0; d < f.steps.size(); ++d) {
    std::string const name = "device " + std::to_string(d) + ", ";
    auto const all = labels(i, f, d);
    json const& expected = gold.at("schedule").at(d);
    r.same(name + "steps with labels", all.size(), expected.size());
    for (std::size_t k = 0; k < std::min(all.size(), expected.size()); ++k)
      r.holds(name + "labels of step " + std::to_string(k), json(all[k]) == expected[k]);
    json const& result = gold.at("result").at(d);
    steps.push_back(result.at(0));
    r.same(name + "steps", f.steps[d], steps.back());
    r.near(name + "utilisation", published_utilisation(i, f, static_cast<int>(d)), result.at(1), 0,
           0.01);
    auto const [early_here, pieces_here] = early_by_labels(expected);
    early += early_here;
    pieces += pieces_here;
  }
  std::size_t placed = 0;
  for (work_event const& e : i.events)
    if (e.is_curvature())
      placed += static_cast<std::size_t>(i.work.part_count(static_cast<int>(&e - i.events.data())));
  r.same("pieces of curvature", placed, pieces);
  r.same("parts before their inputs, by our check", early_work(f.filled).size(), early);
  scores.add(i, steps, "", r);
}

// --- Cases: schedules of the catalog, work modelled after measured layers.

tick nanoseconds(double milliseconds) { return std::llround(milliseconds * 1e6); }

// The six linear modules of a layer, inner four times as wide as outer; what their factors' widths are
// in units of the model's. Curvature costs their squares, inversion their cubes.
struct module_widths {
  char const* name;
  int inputs, outputs;
};
constexpr module_widths modules[] = {{"attention.self.query", 1, 1}, {"attention.self.key", 1, 1},
                                     {"attention.self.value", 1, 1}, {"attention.output.dense", 1, 1},
                                     {"intermediate.dense", 1, 4},   {"output.dense", 4, 1}};

std::vector<work_event> modelled_work(refresh_times const& t, int layers, int micro_batches_of_route,
                                      int routes) {
  int squares = 0, cubes = 0;
  for (module_widths const& m : modules)
    for (int w : {m.inputs, m.outputs}) {
      squares += w * w;
      cubes += w * w * w;
    }
  std::vector<work_event> events;
  tick start = 0;
  auto const add = [&](work_class of, int route, int layer, module_widths const& m, tick duration) {
    std::string label = systems::class_names[static_cast<std::size_t>(of)];
    label += ":l" + std::to_string(layer) + "." + m.name + (route == 0 ? "" : systems::up);
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

void compare_case(json const& row, systems::profiles const& all, systems::report& r,
                  best_fit_scores& scores) {
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
  instance const i = systems::make_instance(
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

}  // namespace

int main(int argc, char** argv) {
  return systems::run(argc, argv, [](json const& gold, std::string const& data, systems::report& r) {
    best_fit_scores scores;
    if (gold.contains("cases")) {
      systems::profiles const all(data);
      for (json const& row : gold.at("cases")) compare_case(row, all, r, scores);
    } else {
      compare_schedules(gold, r, scores);
    }
    auto const say = [&](std::string const& what, best_fit_score const& s) {
      std::cout << what << " takes no more steps than published on " << s.not_worse << " of "
                << s.devices << " devices; on " << s.impossible
                << " no schedule does that has all work after its inputs\n";
      r.holds(what + " takes no more steps than published on nine of ten devices that can",
              10 * s.not_worse >= 9 * (s.devices - s.impossible));
    };
    say("best_fit", scores.alone);
    say("best_fit, interlocked,", scores.interlocked);
  });
}
