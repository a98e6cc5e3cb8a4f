#include "report/tradeoff_certificate.hpp"

#include "report/counted.hpp"
#include <ashlar/bounds/workload.hpp>
#include <ashlar/interop/json_certificate.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tool {

namespace {

using nlohmann::ordered_json;

std::string name_of(studied_schedule const& s, operating_point const& p) {
  return fmt::format("{} with {} and {}", s.name, counted(p.choice.loops.value, "loop"),
                     counted(p.choice.m.value, "micro-batch"));
}

// The bound of the schedule's makespan; none: it has none, or none that can be checked.
std::vector<ashlar::claimed_bound> bounds_of(ashlar::schedule const& s) {
  std::optional<ashlar::bound> const least = ashlar::schedule_bound(s);
  if (!least) return {};
  return {{ashlar::workload_of(s), least->makespan, false}};
}

}  // namespace

void certify(certificates& proofs, tradeoff_study const& study, studied_schedule const& s) {
  ordered_json points = ordered_json::array(), schedules = points, best = points;
  for (operating_point const& p : s.points) {
    ashlar::schedule const made = step_schedule(study.model, p.choice);
    if (std::string const why = ashlar::certificate_obstacle(made); !why.empty())
      return proofs.refuse(name_of(s, p), why);
    ashlar::schedule_certificate const of =
        ashlar::certificate_of(made, name_of(s, p), {}, bounds_of(made));
    ordered_json point{{"blocks", p.choice.blocks},
                       {"micro_batches", p.choice.m.value},
                       {"step", step_time(study.model, p.choice)}};
    if (!of.without_argument.empty())
      proofs.refuse("the bound of " + name_of(s, p),
                    "it takes more than the arguments that can be checked");
    else if (std::optional<ashlar::tick> const least = least_step_time(study.model, p.choice))
      point["least"] = *least;
    points.push_back(std::move(point));
    schedules.push_back(ordered_json::parse(of.json));
  }
  for (operating_point const& p : s.best) {
    auto const is_it = [&](operating_point const& other) {
      return other.choice.m.value == p.choice.m.value
             && other.choice.loops.value == p.choice.loops.value;
    };
    auto const at = std::find_if(s.points.begin(), s.points.end(), is_it);
    best.push_back({p.device_count, at - s.points.begin()});
  }
  proofs.add(ordered_json{{"certificate", "tradeoff"},
                          {"schedule", s.name},
                          {"layers", study.model.layers},
                          {"forward", study.model.forward},
                          {"backward", study.model.backward},
                          {"transfer", study.model.transfer},
                          {"reduction", study.model.reduction},
                          {"samples", study.model.micro_batch},
                          {"critical_batch", static_cast<long long>(study.critical_batch)},
                          {"points", std::move(points)},
                          {"best", std::move(best)},
                          {"schedules", std::move(schedules)}}
                 .dump());
}

}  // namespace tool
