#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/execution.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/once_a_step.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/cost/step/step_bound.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

namespace bound_detail {

// Seconds of one pass of each stage before the `first`.
inline double before(std::vector<stage_passes> const& passes, int first, bool backwards) {
  double sum = 0;
  for (int s = 0; s < first; ++s) {
    stage_passes const& each = passes[static_cast<std::size_t>(s)];
    sum += backwards ? each.backward.seconds() : each.forward.seconds();
  }
  return sum;
}

// More than all rounding of a device's passes, and of those that it waits for, to ticks.
inline double rounding(question const& q, std::vector<stage_passes> const& passes) {
  double longest = 0;
  for (stage_passes const& s : passes) longest = max_of(longest, s.seconds());
  double const tick = max_of(1e-9, 1e-10 * longest),
               count = 3.0 * (q.micro_batches() + 2) * static_cast<double>(passes.size());
  return count * tick;
}

}  // namespace bound_detail

double least_step_seconds(question const& q, std::vector<stage> const& stages,
                          schedule_traits const& traits, constants const& c) {
  std::vector<stage_passes> const passes = passes_of(q, stages, c);
  placement const where = placement_of(q);
  std::vector<std::vector<int>> const here = stages_by_device(where);
  std::vector<double> hidden(stages.size(), 0.0);
  if (traits.may_have_pairs) hidden = most_hidden(q, stages, passes, here, c);
  bool const waits = !traits.may_have_pairs && executes_all(q)
                     && !q.layout.published()->uses(parameter::sequence_chunk_count);
  int const copies = where.route_count();
  double all = 0, busiest = 0, waiting = 0, longest = 0, longest_once = 0;
  device_seconds const long_passes{.forward = 1e12, .backward = 1e12};
  rank_questions const on(q);
  for (std::size_t d = 0; d < here.size(); ++d) {
    double own = 0;
    for (int stage : here[d]) {
      auto const s = static_cast<std::size_t>(stage);
      own += q.micro_batches() * (passes[s].seconds() - hidden[s]);
    }
    int first = where.stage_count();
    for (int stage : here[d]) first = min_of(first, stage);
    double const ahead = bound_detail::before(passes, first, false),
                 behind = traits.may_split ? 0 : bound_detail::before(passes, first, true);
    waiting += ahead + behind;
    if (copies == 1) {
      busiest = max_of(busiest, own);
      longest = max_of(longest, own + ahead + behind);
    }
    once_a_step const once =
        once_by_stages(on.of(static_cast<int>(d)), held_by_stages(q.model, q.layout, stages, here[d]),
                       stages, here[d], long_passes, copies, c);
    longest_once = max_of(longest_once, once.data + once.optimizer);
  }
  for (std::size_t s = 0; s < stages.size(); ++s)
    all += q.micro_batches() * (passes[s].seconds() - hidden[s]);
  auto const count = static_cast<double>(here.size());
  double least = max_of(busiest, all / count);
  if (waits)
    least = max_of(least, max_of(longest, (all + waiting) / count) - bound_detail::rounding(q, passes));
  double const lost = c.straggler * std::log2(max_of(1.0, node_count(q.cluster)));
  constexpr double rounding = 1e-9;
  return (least * (1 + lost) + longest_once) * (1 - rounding);
}

}  // namespace ashlar::cost
