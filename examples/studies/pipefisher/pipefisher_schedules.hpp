// Whole schedules as the published scheduler writes them: the events of each device, and labels by step.
#pragma once

#include "pipefisher_scores.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace systems {

using namespace ashlar;
using nlohmann::json;

inline std::size_t first_of_class(std::string const& label) {
  for (std::size_t k = 0; k < std::size(class_names); ++k)
    if (label.find(class_names[k]) != std::string::npos) return k;
  return std::size(class_names);
}

inline std::vector<std::pair<tick, tick>> events_of(json const& timeline, std::string const& key) {
  if (!timeline.contains(key)) return {};
  return timeline.at(key).get<std::vector<std::pair<tick, tick>>>();
}

inline instance instance_of(json const& timelines) {
  int const p = static_cast<int>(timelines.size());
  std::size_t counts[2] = {};
  tick base = max_tick;
  for (int route = 0; route < 2; ++route) {
    std::string const key = std::string("call_forward") + (route == 0 ? "" : up);
    counts[route] = events_of(timelines[0], key).size();
    for (auto const& event : events_of(timelines[0], key)) base = std::min(base, event.first);
  }
  std::vector<std::vector<time_slot>> orders(timelines.size());
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
                                + std::string(route == 0 ? "" : up);
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
                     [](time_slot const& a, time_slot const& b) { return a.start < b.start; });
    for (auto const& [key, events] : timeline.items()) {
      std::size_t const of = first_of_class(key);
      if (of == std::size(class_names)) continue;
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
  return make_instance(std::move(s), std::move(work));
}

// Labels as the published scheduler writes them, step by step.
inline std::vector<std::vector<std::string>> labels(instance const& i, filling const& f,
                                                    std::size_t device) {
  auto const count = static_cast<std::size_t>(f.steps[device]);
  std::vector<std::vector<std::string>> all(count, {"-- start --"});
  std::vector<std::string> rest;
  for (timed_pass const t : each_pass(f.filled.order[device])) {
    auto const step = static_cast<std::size_t>(t.start / f.step);
    bool const works = is_part(t.what);
    if (step >= count && !works) continue;
    std::string label;
    if (works) {
      label = i.events[static_cast<std::size_t>(part_of(t.what).job)].label;
    } else {
      label = t.what.kind == pass_kind::forward ? "call_forward" : "call_backward";
      if (f.filled.route[static_cast<std::size_t>(t.what.micro_batch)] == 1) label += up;
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
inline std::pair<std::size_t, std::size_t> early_by_labels(json const& steps) {
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
      bool const is_up = label.find(up) != std::string::npos;
      ++pieces;
      early += calls[(of == 0 ? "call_forward" : "call_backward") + std::string(is_up ? up : "")]
               <= done[label]++;
    }
  return {early, pieces};
}

inline void compare_schedules(json const& gold, report& r, best_fit_scores& scores) {
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

}  // namespace systems
