#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/choose/fastest_layouts.hpp>
#include <ashlar/cost/choose/layout_sizes.hpp>
#include <ashlar/cost/choose/layout_trials.hpp>
#include <ashlar/cost/choose/offload_sets.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>
#include <utility>

namespace ashlar::cost {

namespace layouts_detail {

inline bool is_usual(question const& q, left_out& why) {
  int const layers = q.model.layer_count() + (q.layout.counts_ends ? 2 : 0);
  why = left_out::tensor_is_apart;
  for (device_kind const& each : q.cluster.kinds)
    if (q.layout.tensor > each.device.per_node && each.device.domain <= each.device.per_node)
      return false;
  why = left_out::idle_stage;
  if (q.layout.stages.empty() && stage_count(q) > layers) return false;
  why = left_out::uneven_chunks;
  if (q.layout.chunks > 1
      && ((q.layout.stages.empty() && layers % stage_count(q) != 0)
          || q.micro_batches() % q.layout.pipeline != 0))
    return false;
  why = left_out::sharded_pipeline;
  return !stack_of(q).is_sharded || q.layout.pipeline == 1;
}

layout_trials::layout_trials(question const& q, open_sizes const& open, constants const& c,
                             std::size_t most, layouts_watch watch, layout_filter wanted)
    : tried(q),
      asked_(q),
      open_(open),
      c_(c),
      most_(most),
      dealt_(dealt_at_least * q.cluster.kinds.size() * q.cluster.kinds.size()),
      kept_(open.stages ? max_of(most, dealt_) : most),
      watch_(watch),
      wanted_(wanted),
      layers_(q.model.layer_count()),
      ends_(q.model.has_tables() ? 2 : 0),
      again_{recomputation::attention} {
  if (open.parts) again_ = part_sets_of(q.model);
  if (open.again) tried.layout.recompute = recomputation::none;
}

void layout_trials::try_one() {
  try_it();
  tried.program.kind = asked_.program.kind;
  run_nothing_again();
  tried.layout.offload = asked_.layout.offload;
}

void layout_trials::run_nothing_again() {
  if (open_.again) tried.layout.recompute = recomputation::none;
  tried.layout.recompute_in = asked_.layout.recompute_in;
}

layouts_found layout_trials::take() {
  if (open_.stages) deal();
  while (found_.best.size() > most_) found_.best.pop_back();
  if (found_.tried > 0) found_.refused.clear();
  if (!found_.best.empty()) found_.smallest.clear();
  found_.for_pairs = for_pairs_.layouts();
  found_.is_whole = !stopped_;
  return std::move(found_);
}

void layout_trials::try_it() {
  if (stopped_) return;
  if (++seen_ % between_calls == 0 && !watch_(found_)) stopped_ = true;
  left_out why{};
  if (!is_usual(tried, why)) return count(why);
  if (stack const s = stack_of(tried);
      tried.program.kind == program_kind::automatic && !s.is_sharded && !s.is_tuned)
    tried.program.kind = is_low(tried.program.format) || has_several_nodes(tried.cluster)
                             ? program_kind::recipe
                             : program_kind::tuned;
  try {
    check(tried);
    std::vector<stage> const stages = stages_of(tried);
    if (!every_stage_works(tried)) return count(left_out::idle_stage);
    if (weigh(stages) != weight::too_large) return;
    if (divides_layers()) keep_near(near_);
    if (open_.again) try_again(stages);
    if (open_.leaves && knows_hosts(tried.cluster)) try_leaving(stages);
  } catch (unpredictable const& e) {
    count(left_out::refused);
    ++found_.by_requirement[static_cast<std::size_t>(e.broken)];
    if (found_.refused.empty()) found_.refused.push_back(tried);
  }
}

void layout_trials::try_again(std::vector<stage> const& stages) {
  for (recomputation r : again_) {
    tried.layout.recompute = r;
    weigh(stages);
  }
  tried.layout.recompute = recomputation::full;
  if (weigh(stages) == weight::too_large || !open_.parts) return;
  weigh_fewest_layers(stages, tried.layout.recompute_in);
}

void layout_trials::try_leaving(std::vector<stage> const& stages) {
  run_nothing_again();
  for (bool optimizer : {false, true}) {
    tried.layout.offload = asked_.layout.offload;
    if (optimizer) {
      if (tried.layout.offload.optimizer) return;
      tried.layout.offload.optimizer = true;
      if (weigh(stages) != weight::too_large) return;
      if (divides_layers()) keep_near(near_without_optimizer_);
    }
    if (asked_.layout.offload.parts != offloaded::none
        || has(tried.layout.recompute, recomputation::full))
      continue;
    // More offloaded bytes never take less time, and free memory.
    std::vector<offloaded> const sets = offload_sets_of(tried, c_);
    std::size_t low = 0;
    for (std::size_t high = sets.size(); low < high;) {
      std::size_t const middle = low + (high - low) / 2;
      tried.layout.offload.parts = sets[middle];
      if (weigh(stages) == weight::too_large)
        low = middle + 1;
      else
        high = middle;
    }
    tried.layout.offload.parts = offloaded::all;
    if (low == sets.size() && weigh(stages) != weight::too_large)
      weigh_fewest_layers(stages, tried.layout.offload.in);
  }
}

void layout_trials::weigh_fewest_layers(std::vector<stage> const& stages, chosen_layers& which) {
  int high = 0;
  for (stage const& s : stages) high = max_of(high, s.count);
  for (int low = 1; low < high;) {
    which.first = low + (high - low) / 2;
    if (weigh(stages) == weight::too_large)
      low = which.first + 1;
    else
      high = which.first;
  }
}

layout_trials::weight layout_trials::weigh(std::vector<stage> const& stages) {
  if (!wanted_(tried)) {
    count(left_out::unwanted);
    return weight::unwanted;
  }
  ++found_.tried;
  // Layouts whose layers are divided again are executed only then.
  uneven_rounds const how = divides_layers() ? uneven_rounds::by_closed_form : uneven_rounds::executed;
  step_terms const step = step_of(tried, stages, c_, how);
  double const seconds = step.seconds;
  if (!std::isfinite(seconds)) return weight::slower;
  bool const is_late =
      found_.best.size() == kept_ && (kept_ == 0 || seconds > found_.best.back().seconds);
  double const in_pairs = open_.pairs ? layouts_for_pairs::seconds_of(tried, step) : seconds;
  bool const may_hide = in_pairs < seconds && for_pairs_.have_room_for(in_pairs);
  if (is_late && !may_hide) {
    count(left_out::slower);
    return weight::slower;
  }
  last_seconds_ = seconds;
  std::vector<memory_parts> const held = memory_of(tried, stages, c_);
  double const peak = peak_bytes(held);
  if (fits(tried, held, c_)) {
    if (may_hide) for_pairs_.keep({.asked = tried, .seconds = seconds, .peak = peak}, in_pairs);
    if (is_late) {
      count(left_out::slower);
      return weight::slower;
    }
    keep({.asked = tried, .seconds = seconds, .peak = peak});
    return weight::fits;
  }
  count(left_out::too_large);
  if (found_.best.empty() && (found_.smallest.empty() || peak < found_.smallest[0].peak))
    found_.smallest = {{.asked = tried, .seconds = seconds, .peak = peak}};
  return weight::too_large;
}

void layout_trials::keep(ranked_layout const& made) {
  for (ranked_layout const& other : found_.best)
    if (is_same(other, made)) return;
  insert(found_.best, made, kept_);
}

void layout_trials::keep_near(std::vector<ranked_layout>& near) const {
  insert(near, {.asked = tried, .seconds = last_seconds_}, dealt_);
}

void layout_trials::deal() {
  std::vector<ranked_layout> const kept = std::move(found_.best);
  found_.best = {};
  for (std::vector<ranked_layout> const* list :
       {&kept, &std::as_const(near_), &std::as_const(near_without_optimizer_)})
    for (ranked_layout each : *list) {
      bool const fits_as_it_is = list == &kept;
      stopped_ = stopped_ || !watch_(found_);
      if (each.asked.layout.pipeline > 1 && !stopped_) deal_one(each, fits_as_it_is);
      if (fits_as_it_is || each.peak > 0) keep(each);
    }
}

void layout_trials::deal_one(ranked_layout& each, bool fits_as_it_is) {
  question q = each.asked;
  if (q.layout.chunks > 1) each.seconds = step_of(q, stages_of(q), c_).seconds;
  if (q.layout.pipeline * q.layout.chunks > layers_ + ends_) return;
  dealing const made = deal_layers(q, c_);
  each.bound = min_of(made.bound, each.seconds);
  if (made.stages.empty() || (fits_as_it_is && made.seconds > each.seconds * (1 - 1e-9))) return;
  q.layout.stages = made.stages;
  q.layout.counts_ends = false;
  std::vector<memory_parts> const held = memory_of(q, q.layout.stages, c_);
  if (fits(q, held, c_)) each = {q, made.seconds, peak_bytes(held), made.bound};
}

}  // namespace layouts_detail

bool is_usual(question const& q) {
  left_out why{};
  return layouts_detail::is_usual(q, why);
}

}  // namespace ashlar::cost
