// The report of batches that kinds of devices share by speed.
#include "plan/plan_report.hpp"
#include "report/table.hpp"
#include <ashlar/program/names.hpp>

#include <fmt/core.h>

namespace tool {

using ashlar::kind_share;

std::string shares_of(plan_study const& s) {
  if (!s.has_kinds() || s.aim != plan_aim::time) return {};
  if (s.shared.shares.empty())
    return "\nPipelines of one kind each: none, because some kind cannot hold the model, or there are "
           "fewer sequences than kinds.\n";
  std::vector<std::vector<std::string>> cells{{"kind", "sequences", "schedule", "recompute", "sharding",
                                               "tensor", "data", "pipeline", "micro-batch", "of",
                                               "layers", "seconds", "GiB"}};
  for (kind_share const& each : s.shared.shares) {
    ashlar::training_plan const& plan = each.step.plan;
    ashlar::training_layout const& l = plan.layout;
    cells.push_back({s.cluster.kinds[static_cast<std::size_t>(each.kind)].name,
                     std::to_string(each.batch), name_of(plan), word_of(l.again), name_of(plan.sharding),
                     std::to_string(l.tensor), std::to_string(l.data), std::to_string(l.pipeline),
                     std::to_string(l.micro_batch), std::to_string(plan.micro_batches), layers_of(plan),
                     fmt::format("{:.3f}", each.step.seconds), gib(each.step.bytes)});
  }
  std::string text = fmt::format(
      "\nPipelines of one kind each, which share the batch by speed: {:.3f} s", s.shared.seconds());
  if (!s.answer.best.empty()) {
    double const more = s.shared.seconds() / s.answer.best[0].seconds - 1;
    text += fmt::format(", {:.1f} % {} than the first", 100 * (more < 0 ? -more : more),
                        more < 0 ? "less" : "more");
  }
  return text + fmt::format(". {:.3f} s of it sum gradients over the kinds.\n", s.shared.sum)
         + table(cells, 3);
}

}  // namespace tool
