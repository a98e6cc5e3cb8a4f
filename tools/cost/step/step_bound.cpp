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

double least_step_seconds(question const& q, std::vector<stage> const& stages, bool has_pairs,
                          constants const& c) {
  std::vector<stage_passes> const passes = passes_of(q, stages, c);
  placement const where = placement_of(q);
  std::vector<std::vector<int>> const here = stages_by_device(where);
  std::vector<double> hidden(stages.size(), 0.0);
  if (has_pairs) hidden = most_hidden(q, stages, passes, here, c);
  auto const seconds_of = [&](int stage) {
    auto const s = static_cast<std::size_t>(stage);
    return q.micro_batches() * (passes[s].seconds() - hidden[s]);
  };
  int const copies = where.route_count();
  double all = 0, busiest = 0, longest_once = 0;
  for (int stage = 0; stage < where.stage_count(); ++stage) all += seconds_of(stage);
  device_seconds const long_passes{.forward = 1e12, .backward = 1e12};
  rank_questions const on(q);
  for (std::size_t d = 0; d < here.size(); ++d) {
    double own = 0;
    for (int stage : here[d]) own += seconds_of(stage);
    if (copies == 1) busiest = max_of(busiest, own);
    once_a_step const once =
        once_on(on.of(static_cast<int>(d)), held_by_stages(q.model, q.layout, stages, here[d]).trained,
                long_passes, copies, c);
    longest_once = max_of(longest_once, once.data + once.optimizer);
  }
  busiest = max_of(busiest, all / static_cast<double>(here.size()));
  double const lost = c.straggler * std::log2(max_of(1.0, node_count(q.cluster)));
  constexpr double rounding = 1e-9;
  return (busiest * (1 + lost) + longest_once) * (1 - rounding);
}

}  // namespace ashlar::cost
