#include <ashlar/cost/choose/dealing_by_speed.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/step/passes.hpp>

#include <cstddef>

namespace ashlar::cost {

std::vector<stage> deal_by_speed(question const& q, placement const& where, constants const& c) {
  rank_questions const on(q);
  part_chain const chain(q.model, q.layout);
  std::vector<stage> const single = chain.single_parts();
  std::vector<double> seconds(single.size(), 0.0), speeds;
  question const* last = nullptr;
  double sum = 0;
  for (int d = 0; d < q.layout.pipeline; ++d) {
    if (&on.of(d) != last) {
      last = &on.of(d);
      sum = 0;
      std::vector<stage_passes> const passes = passes_of(*last, single, c);
      for (std::size_t i = 0; i < seconds.size(); ++i) {
        double const each = passes[i].forward.launched() + passes[i].backward.launched();
        sum += each;
        seconds[i] += each;
      }
    }
    speeds.push_back(1 / sum);
  }
  std::vector<double> shares;
  for (int stage = 0; stage < where.stage_count(); ++stage)
    shares.push_back(speeds[static_cast<std::size_t>(where.device_of(0, stage))]);
  return deal_in_proportion(chain, seconds, shares);
}

}  // namespace ashlar::cost
