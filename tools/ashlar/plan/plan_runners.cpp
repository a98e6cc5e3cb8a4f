// Which frameworks can run the plans shown.
#include "plan/plan_report.hpp"
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/lower/lower.hpp>

#include <fmt/core.h>

#include <cstddef>

namespace tool {

namespace {

using namespace ashlar;

// Sharding and recomputation are no part of PyTorch's schedules.
std::string in_pytorch(plan_study const&, planned_step const& step) {
  return pytorch_obstacle(lower(passes_of(step)));
}

// The order that a search found is no framework's own.
std::string obstacle_of_order(planned_step const& step) {
  return step.catalog > 0 ? "its order was found by a search" : "";
}

std::string in_megatron(plan_study const& s, planned_step const& step) {
  std::string const why = megatron_obstacle(s, step.plan);
  return why.empty() ? obstacle_of_order(step) : why;
}

std::string in_deepspeed(plan_study const& s, planned_step const& step) {
  std::string const why = deepspeed_obstacle(s, step.plan);
  return why.empty() ? obstacle_of_order(step) : why;
}

}  // namespace

std::string runners_of(plan_study const& s) {
  std::string text;
  auto const add = [&](char const* framework, auto const& obstacle) {
    std::string const why = obstacle(s, s.answer.best[0]);
    if (why.empty()) {
      text += fmt::format("{} can run plan 1.\n", framework);
      return;
    }
    text += fmt::format("{} cannot run plan 1: {}; ", framework, why);
    for (std::size_t i = 1; i < s.answer.best.size(); ++i)
      if (obstacle(s, s.answer.best[i]).empty()) {
        text += fmt::format("the best of these that it can is plan {}.\n", i + 1);
        return;
      }
    text += "it can run none of the others.\n";
  };
  add("PyTorch", in_pytorch);
  add("Megatron-LM", in_megatron);
  add("DeepSpeed", in_deepspeed);
  if (training_plan const& first = s.answer.best[0].plan; first.kinds.size() > 1) {
    std::string order;
    for (int kind : first.kinds)
      order += (order.empty() ? "" : ", then ") + s.cluster.kinds[static_cast<std::size_t>(kind)].name;
    text += fmt::format("Nodes are to be ranked in the order of plan 1's kinds: {}.\n", order);
  }
  return text;
}

}  // namespace tool
