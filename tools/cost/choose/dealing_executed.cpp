#include <ashlar/catalog/entry.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/dealing_executed.hpp>
#include <ashlar/cost/choose/dealing_moves.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

namespace ashlar::cost::dealing_detail {

namespace {

inline constexpr double most_passes = 1e7;          // over all divisions that are executed
inline constexpr int most_searched_schedules = 40;  // where a search makes the schedule

class executed_dealer {
 public:
  executed_dealer(question const& q, constants const& c)
      : q_(q),
        c_(c),
        chain_(q.model, q.layout),
        where_(placement_of(q)),
        here_(stages_by_device(where_)),
        count_(where_.stage_count()) {
    bool const is_searched = q.layout.published() != nullptr && q.layout.published()->is_searched;
    double const passes = 3.0 * count_ * q.micro_batches();
    left_ = is_searched ? most_searched_schedules : static_cast<int>(max_of(40.0, most_passes / passes));
  }

  // Begins at each of these divisions.
  dealing from(std::vector<std::vector<stage>> const& starts) {
    std::vector<int> best;
    outcome least;
    for (std::vector<stage> const& start : starts) {
      std::vector<int> ends = chain_.ends_of(start);
      outcome const found = improve(ends);
      if (!best.empty() && !(found < least)) continue;
      best = ends;
      least = found;
    }
    if (best.empty() || least.over > 0) return {.stages = {}, .seconds = nothing};
    return {.stages = chain_.stages_of(best), .seconds = least.seconds, .bound = bound()};
  }

 private:
  outcome weigh(std::vector<int> const& ends) {
    std::vector<stage> const stages = chain_.stages_of(ends);
    for (int s = 0; s + q_.layout.pipeline < count_; ++s)
      if (stages[static_cast<std::size_t>(s)].predictions > 0) return {};
    --left_;
    step_terms const step = step_of(q_, stages, c_);
    outcome made{.over = 0, .seconds = step.seconds};
    double busiest = -1;
    for (std::size_t d = 0; d < here_.size(); ++d) {
      double work = 0;
      for (int s : here_[d]) work += step.of_stages[static_cast<std::size_t>(s)].seconds();
      made.squares += work * work;
      if (work > busiest) made.device = static_cast<int>(d);
      busiest = max_of(busiest, work);
    }
    rank_questions const on(q_);
    std::vector<memory_parts> const held = memory_of(q_, stages, c_, step.run);
    for (std::size_t d = 0; d < held.size(); ++d) {
      double const has = on.of(static_cast<int>(d)).cluster.device().memory_bytes;
      made.over += max_of(0.0, held[d].all() + c_.outside_bytes - has);
    }
    return made;
  }

  bool is_on(int stage, int device) const {
    for (int s : here_[static_cast<std::size_t>(device)])
      if (s == stage) return true;
    return false;
  }

  outcome improve(std::vector<int>& ends) {
    return improved(
        ends, weigh(ends), [&](std::vector<int> const& other) { return weigh(other); },
        [&](int stage, int device) { return is_on(stage, device); }, [&] { return left_ > 0; });
  }

  // On average, a device works on its share of all parts.
  double bound() const {
    double least = 0;
    std::vector<stage> const single = chain_.single_parts();
    rank_questions const on(q_);
    std::vector<double> fastest(single.size(), nothing);
    for (int d = 0; d < q_.layout.pipeline; ++d) {
      std::vector<stage_passes> const passes = passes_of(on.of(d), single, c_);
      for (std::size_t i = 0; i < single.size(); ++i) {
        if (passes[i].forward.expert > 0) return 0;  // pairs hide exchanges of experts
        fastest[i] = min_of(fastest[i], passes[i].forward.on_device() + passes[i].backward.on_device());
      }
      if (!q_.cluster.has_several_kinds()) break;
    }
    for (double each : fastest) least += each;
    double const lost = 1 + c_.straggler * std::log2(max_of(1.0, node_count(q_.cluster)));
    return q_.micro_batches() * least / q_.layout.pipeline * lost;
  }

  question const& q_;
  constants const& c_;
  part_chain chain_;
  placement where_;
  std::vector<std::vector<int>> here_;  // stages by device
  int count_;
  int left_ = 0;  // divisions that may still be executed
};

}  // namespace

dealing deal_executed(question const& asked, constants const& c) {
  question q = asked;
  q.layout.stages.clear();
  check(q);
  layout even = q.layout;
  even.chunks = stage_count(q) / q.layout.pipeline;
  std::vector<std::vector<stage>> starts;
  if (even.chunks * q.layout.pipeline == stage_count(q)) starts.push_back(deal_evenly(q.model, even));
  if (!asked.layout.stages.empty()) starts.push_back(asked.layout.stages);
  if (even.chunks == 1 && !q.cluster.has_several_kinds()) {
    question usual = q;
    usual.layout.order = closed_form{};
    usual.layout.lanes.reset();
    dealing const by_form = deal_layers(usual, c);
    if (!by_form.stages.empty()) starts.push_back(by_form.stages);
  }
  dealing made = executed_dealer(q, c).from(starts);
  made.bound = min_of(made.bound, made.seconds);
  return made;
}

}  // namespace ashlar::cost::dealing_detail
