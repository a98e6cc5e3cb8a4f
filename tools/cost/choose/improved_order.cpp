#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/improved_order.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/execution.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>

namespace ashlar::cost {

namespace improved_order_detail {

// The question with a schedule of the catalog in place of its closed form, whose stages stay.
inline question executed(question const& q, std::vector<stage> const& stages) {
  question made = q;
  made.layout.stages = stages;
  if (made.layout.is_usual())
    made.layout.order = catalog::find(q.layout.chunks == 1 ? "1f1b" : "depth-first");
  return made;
}

// The bytes that passes may hold on each device: its memory without all that stays. Throws unpredictable
// for more than can be counted.
inline memory_limit limit_of(question const& q, std::vector<stage> const& stages, constants const& c) {
  memory_limit limit;
  limit.memory.stages.clear();
  auto const counted = [&](double bytes) {
    if (!(bytes < static_cast<double>(max_tick)))  // NaN, too
      throw unpredictable(requirement::sizes_are_small_enough, q.batch, q.sequence);
    return static_cast<byte_count>(bytes);
  };
  std::vector<stage_needs> const needs = needs_of(q, stages, false, c);
  for (stage_needs const& each : needs)
    limit.memory.stages.push_back({.stash = counted(each.kept + 0.5)});
  rank_questions const on(q);
  placement const where = placement_of(q);
  std::vector<std::vector<int>> const here = stages_by_device(where);
  for (std::size_t d = 0; d < here.size(); ++d) {
    stage_needs all;
    for (int number : here[d]) all.add(needs[static_cast<std::size_t>(number)]);
    question const& own = on.of(static_cast<int>(d));
    double const stays = memory_of_device(own, all, 0, where.route_count(), c).all() + c.outside_bytes;
    limit.budget.push_back(counted(max_of(0.0, own.cluster.device().memory_bytes - stays)));
  }
  return limit;
}

}  // namespace improved_order_detail

std::vector<question> improved_order(question const& q, constants const& c, double seconds,
                                     std::int64_t passes) {
  if (passes <= 0 || q.layout.pipeline == 1) return {};
  std::vector<stage> const stages = stages_of(q);
  question run = improved_order_detail::executed(q, stages);
  schedule const s = execute(run, stages, passes_of(run, stages, c), c, true).timed[0];
  if (!can_be_improved(s)) return {};
  std::vector<schedule> const found =
      improved_within({split_backward(s)}, improved_order_detail::limit_of(run, stages, c),
                      {.passes = passes, .aim = objective::makespan});
  if (found.empty()) return {};
  run.layout.order = found[0];
  answer const made = predict_run(run, c, {});
  if (!made.fits || !(made.step.seconds < seconds)) return {};
  return {run};
}

}  // namespace ashlar::cost
