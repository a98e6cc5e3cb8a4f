#include "plan/plan_report.hpp"
#include <ashlar/plan/training/simulated_step.hpp>
#include <ashlar/plan/training/training_plan.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace tool {

namespace {

using namespace ashlar;

char const* words_of(layout_reason why) {
  switch (why) {
    case layout_reason::no_recomputation:
      return "it runs nothing again";
    case layout_reason::smaller_micro_batch:
      return "its micro-batches are smaller";
    case layout_reason::fused_kernels:
      return "its kernels are fused";
    case layout_reason::fewer_devices_of_model:
      return "it splits the model over fewer devices";
    case layout_reason::less_tensor:
      return "it splits layers over fewer devices";
    case layout_reason::sequence_parallel:
      return "it splits sequences over the tensor ranks";
    case layout_reason::none:
      break;
  }
  return "";
}

// Says where the time of a step goes.
std::string parts_of(plan_study const& s, planned_step const& step) {
  plan_question no_sums = s.question;
  for (device_kind& each : no_sums.kinds) each.constants.exchange = 0;
  double const busy = busiest_seconds(s.question, step.plan) / step.seconds,
               work = busiest_seconds(no_sums, step.plan) / step.seconds,
               hidden = simulated_step(passes_of(step), times_of(without_links(s.question), step.plan),
                                       message_mode::beside);
  return fmt::format(
      "of its time, its busiest device computes {:.0f} %, exchanges between tensor ranks {:.0f} % and "
      "waits or sums gradients {:.0f} %; links of zero time would save {:.0f} %",
      100 * work, 100 * (busy - work), 100 * (1 - busy), 100 * (1 - hidden / step.seconds));
}

// The share by which one plan is worse than another in what the question minimises.
double worse_by(plan_study const& s, planned_step const& step, planned_step const& than) {
  return objective_of(s.question, step.plan, step.seconds)
             / objective_of(s.question, than.plan, than.seconds)
         - 1;
}

// The plan that the rules of the published sweeps would try, and why the answer is another.
std::string rules_of(plan_study const& s, planned_step const& best) {
  planned_step const first = tried_first(s.question, s.answer);
  std::string text = "  the rules of published sweeps (Hagemann et al. 2023) ";
  if (first.plan.entry == nullptr) return text + "know no plan that fits\n";
  if (first.plan.layout == best.plan.layout) return text + "try this layout first\n";
  text += fmt::format("try first {}: {:.3f} s ({:+.1f} %)", text_of_plan(s, first.plan), first.seconds,
                      100 * worse_by(s, first, best));
  if (layout_reason const why = comes_before(s.question, first.plan, best.plan);
      why != layout_reason::none)
    text += fmt::format(", because {}", words_of(why));
  return text + fmt::format(";\n    {}\n", parts_of(s, first));
}

// Says what keeps the step from being shorter.
std::string binding(plan_study const& s, planned_step const& best) {
  plan_question q = s.question;
  for (device_kind& each : q.kinds) each.machine.memory = 1e18;
  plan_answer const unlimited = best_of(s, q);
  return fmt::format("  {}\n  without a limit on memory: {:.3f} s ({:+.1f} %), {}; so memory {}\n",
                     parts_of(s, best), unlimited.best[0].seconds,
                     100 * worse_by(s, unlimited.best[0], best), text_of_plan(s, unlimited.best[0].plan),
                     worse_by(s, unlimited.best[0], best) < 0 ? "binds" : "does not bind");
}

}  // namespace

std::string reasons_of(plan_study const& s) {
  planned_step const best = best_of(s, s.question).best[0];  // as the others: without a search
  std::string text = fmt::format("Why (in the catalog's orders; the best is {:.3f} s, {}):\n",
                                 best.seconds, text_of_plan(s, best.plan))
                     + binding(s, best) + rules_of(s, best);
  auto const only = [&](std::string const& what, plan_question const& q) {
    plan_answer const a = best_of(s, q);
    if (!a.best.empty())
      text += fmt::format("  {}: {:.3f} s with {}\n", what, a.best[0].seconds,
                          text_of_plan(s, a.best[0].plan));
    else if (!a.rejected.empty())
      text += fmt::format("  {}: nothing fits; the least, {}: {}\n", what,
                          text_of_plan(s, a.rejected[0].plan), text_of_bytes(s, a.rejected[0]));
  };
  int node_size = 1;
  for (device_kind const& each : s.question.kinds)
    node_size = std::max(node_size, each.machine.node_size);
  for (int t = 1; t <= node_size; t *= 2) {
    plan_question q = s.question;
    q.tensor = t;
    only(fmt::format("tensor {}", t), q);
  }
  for (std::size_t k = 0; s.has_kinds() && k < s.question.kinds.size(); ++k) {
    plan_question q = s.question;
    q.kind = static_cast<int>(k);
    only(s.cluster.kinds[k].name + " alone", q);
  }
  auto const with = [&](char const* what, plan_question const& q) {
    plan_answer const a = best_of(s, q);
    text += fmt::format("  {}: {:.3f} s ({:+.1f} %), {}\n", what, a.best[0].seconds,
                        100 * worse_by(s, a.best[0], best), text_of_plan(s, a.best[0].plan));
  };
  auto const with_each = [&](char const* what, auto change) {
    plan_question q = s.question;
    for (device_kind& each : q.kinds) change(each.machine);
    return with(what, q);
  };
  with_each("with 10 % more memory", [](device_machine& m) { m.memory *= 1.1; });
  with_each("with links inside nodes twice as fast", [](device_machine& m) { m.inside *= 2; });
  plan_question faster = s.question;
  for (device_kind& each : faster.kinds) each.machine.between *= 2;
  faster.between_kinds *= 2;
  with("with links between nodes twice as fast", faster);
  return text;
}

}  // namespace tool
