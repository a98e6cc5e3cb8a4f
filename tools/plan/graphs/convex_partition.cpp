#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/graphs/convex_partition.hpp>

namespace ashlar {

convex_partitioner::convex_partitioner(operator_model const& model, operator_machine const& machine,
                                       operator_batch const& batch)
    : model_(model),
      machine_(machine),
      batch_(batch),
      stage_of_(model.cost.size(), 0),
      sum_(model.cost.size()) {
  for (int b = 1; b <= batch.largest_micro_batch && batch.samples % b == 0; b *= 2) sizes_.push_back(b);
}

std::vector<planned_stage> convex_partitioner::stages_below(tick time) {
  limit_ = time;
  choices_ = 0;
  best_.clear();
  extend(0, 0);
  return best_;
}

void convex_partitioner::extend(std::size_t next, int used) {
  if (next == stage_of_.size()) return try_stages(used);
  for (int s = 0; s <= used && s < machine_.device_count; ++s) {
    operator_cost const before = nth(sum_, s);
    nth(sum_, s).add(model_.cost[next]);
    stage_of_[next] = s;
    if (may_fit(nth(sum_, s))) extend(next + 1, max_of(used, s + 1));
    nth(sum_, s) = before;
  }
}

bool convex_partitioner::may_fit(operator_cost const& sum) const {
  for (int b : sizes_)
    if (busy_of_stage(sum, {b, min_of(b, machine_.device_count)}, batch_.samples) < limit_) return true;
  return false;
}

void convex_partitioner::try_stages(int used) {
  tick message = 0;
  for (int o = 0; o < model_.graph.count() && machine_.bandwidth > 0; ++o)
    for (int after : model_.graph.successors(o)) {
      auto const from = static_cast<std::size_t>(o);
      if (stage_of_[from] == nth(stage_of_, after)) continue;
      message =
          max_of(message, message_time(model_.cost[from].output * batch_.samples, machine_.bandwidth));
    }
  if (message >= limit_ || !check_partition(model_.graph, stage_of_).ok()) return;
  operator_partition const cut = partitioned(model_.graph, stage_of_);
  how_.assign(static_cast<std::size_t>(used), {});
  held_.assign(static_cast<std::size_t>(used), 0);
  costs_.assign(static_cast<std::size_t>(used), {});
  for (std::size_t s = 0; s < costs_.size(); ++s) nth(costs_, cut.number[s]) = sum_[s];
  while (message < limit_ && has_devices() && choose(cut, used - 1, machine_.device_count, message)) {
  }
}

int convex_partitioner::fewest(operator_cost const& sum, int size) const {
  for (int d = 1; d <= min_of(size, machine_.device_count); ++d)
    if (busy_of_stage(sum, {size, d}, batch_.samples) < limit_) return d;
  return 0;
}

bool convex_partitioner::has_devices() const {
  int all = 0;
  for (operator_cost const& sum : costs_) {
    int least = 0;
    for (int b : sizes_)
      if (int const d = fewest(sum, b); d > 0 && (least == 0 || d < least)) least = d;
    if (least == 0) return false;
    all += least;
  }
  return all <= machine_.device_count;
}

bool convex_partitioner::choose(operator_partition const& cut, int stage, int left, tick time) {
  if (++choices_ > most_choices) return false;
  if (stage < 0) {
    limit_ = time;
    best_.assign(how_.size(), {});
    for (std::size_t s = 0; s < how_.size(); ++s) best_[s].how = how_[s];
    for (std::size_t o = 0; o < stage_of_.size(); ++o)
      nth(best_, cut.stage_of[o]).operators.push_back(static_cast<int>(o));
    return true;
  }
  auto const s = static_cast<std::size_t>(stage);
  for (int b : sizes_) {
    std::int64_t held = b;
    for (int after : cut.graph.successors(stage)) {
      auto const a = static_cast<std::size_t>(after);
      held = max_of(held, held_[a] + max_of(b, how_[a].micro_batch));
    }
    int d = fewest(costs_[s], b);
    if (d == 0) continue;
    while (d <= min_of(b, left - stage)
           && memory_of_stage(costs_[s], {b, d}, held, batch_.samples) > machine_.memory)
      ++d;
    if (d > min_of(b, left - stage)) continue;
    how_[s] = {b, d};
    held_[s] = held;
    if (choose(cut, stage - 1, left - d,
               max_of(time, busy_of_stage(costs_[s], how_[s], batch_.samples))))
      return true;
  }
  return false;
}

}  // namespace ashlar
