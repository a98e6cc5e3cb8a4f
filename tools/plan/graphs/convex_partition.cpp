#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/graphs/convex_partition.hpp>

#include <set>
#include <utility>

namespace ashlar {

convex_partitioner::convex_partitioner(operator_model const& model, operator_machine const& machine,
                                       operator_batch const& batch)
    : model_(model), machine_(machine), batch_(batch) {
  for (int b = 1; b <= batch.largest_micro_batch && batch.samples % b == 0; b *= 2) sizes_.push_back(b);
}

std::vector<planned_stage> convex_partitioner::stages_below(tick time) {
  choices_ = 0;
  std::vector<planned_stage> best = stages_within(time - 1);
  if (best.empty()) return best;
  for (tick low = 0, high = time - 1; low < high && is_complete();) {
    tick const middle = low + (high - low) / 2;
    std::vector<planned_stage> found = stages_within(middle);
    if (found.empty()) {
      low = middle + 1;
    } else {
      high = middle;
      best = std::move(found);
    }
  }
  return best;
}

std::vector<planned_stage> convex_partitioner::stages_within(tick time) {
  auto const count = model_.cost.size();
  added_.clear();
  std::vector<std::map<operator_set, std::vector<way>>> by_count(count + 1);
  by_count[0][operator_set(count / 64 + 1, 0)].push_back({});
  for (std::size_t n = 0; n < count; ++n) {
    for (auto const& [done, ways] : by_count[n])
      for (candidate const& c : candidates_before(done, time)) {
        std::vector<way> made;
        for (way const& now : ways) extend(c, done, now, time, made);
        if (!is_complete()) return {};
        if (made.empty()) continue;
        std::vector<way>& into = by_count[n + c.count][c.with_done];
        for (way& each : made) keep(into, std::move(each));
      }
    by_count[n].clear();
  }
  std::vector<planned_stage> found;
  for (auto const& [done, ways] : by_count[count])
    for (int at = ways.front().last; at >= 0; at = nth(added_, at).next)
      found.push_back(nth(added_, at).has);
  return found;
}

bool convex_partitioner::is_free(int o, operator_set const& done) const {
  for (int after : model_.graph.successors(o))
    if (!has(done, after)) return false;
  return !has(done, o);
}

bool convex_partitioner::is_sent(int o, operator_set const& done) const {
  for (int after : model_.graph.successors(o))
    if (has(done, after)) return true;
  return false;
}

bool convex_partitioner::may_fit(operator_cost const& sum, tick time) const {
  for (int b : sizes_) {
    stage_choice const how{b, min_of(b, machine_.device_count)};
    if (busy_of_stage(sum, how, batch_.samples) <= time
        && memory_of_stage(sum, how, b, batch_.samples) <= machine_.memory)
      return true;
  }
  return false;
}

std::vector<convex_partitioner::candidate> convex_partitioner::candidates_before(
    operator_set const& done, tick time) {
  std::vector<candidate> all(1);
  all[0].with_done = done;
  std::set<operator_set> seen;
  for (std::size_t i = 0; i < all.size() && is_complete(); ++i)
    for (int o = 0; o < model_.graph.count(); ++o) {
      if (!is_free(o, all[i].with_done)) continue;
      choices_ += static_cast<std::int64_t>(done.size());
      operator_cost sum = all[i].sum;
      sum.add(nth(model_.cost, o));
      bool const is_late =
          machine_.bandwidth > 0 && is_sent(o, done)
          && message_time(nth(model_.cost, o).output * batch_.samples, machine_.bandwidth) > time;
      if (is_late || !may_fit(sum, time)) continue;
      operator_set more = all[i].with_done;
      add(more, o);
      if (seen.insert(more).second) all.push_back({std::move(more), sum, all[i].count + 1});
    }
  all.erase(all.begin());
  return all;
}

void convex_partitioner::extend(candidate const& c, operator_set const& done, way const& now, tick time,
                                std::vector<way>& into) {
  for (int size : sizes_) {
    ++choices_;
    std::int64_t held = size;
    for (demand const& d : now.asks)
      for (int before : model_.graph.predecessors(d.of))
        if (has(c.with_done, before)) held = max_of(held, d.held + max_of(size, d.size));
    auto const fits = [&](int d) {
      return busy_of_stage(c.sum, {size, d}, batch_.samples) <= time
             && memory_of_stage(c.sum, {size, d}, held, batch_.samples) <= machine_.memory;
    };
    int low = 1, high = min_of(size, machine_.device_count - now.devices);
    if (high < 1 || !fits(high)) continue;
    while (low < high) {
      int const middle = low + (high - low) / 2;
      if (fits(middle))
        high = middle;
      else
        low = middle + 1;
    }
    way made{.devices = now.devices + low};
    if (machine_.memory != max_tick) made.asks = asked_with(c, done, now, held, size);
    if (is_beaten(into, made)) continue;
    made.last = static_cast<int>(added_.size());
    added_.push_back({{.operators = {}, .how = {size, low}}, now.last});
    for (int o = 0; o < model_.graph.count(); ++o)
      if (has(c.with_done, o) && !has(done, o)) added_.back().has.operators.push_back(o);
    keep(into, std::move(made));
  }
}

std::vector<convex_partitioner::demand> convex_partitioner::asked_with(candidate const& c,
                                                                       operator_set const& done,
                                                                       way const& now, std::int64_t held,
                                                                       int size) const {
  auto const is_asked = [&](int o) {
    for (int before : model_.graph.predecessors(o))
      if (!has(c.with_done, before)) return true;
    return false;
  };
  std::vector<demand> asks;
  for (demand const& d : now.asks)
    if (is_asked(d.of)) asks.push_back(d);
  for (int o = 0; o < model_.graph.count(); ++o)
    if (has(c.with_done, o) && !has(done, o) && is_asked(o)) asks.push_back({o, held, size});
  return asks;
}

// Both are of the same operators, so they have demands of the same.
bool convex_partitioner::holds_more(way const& one, way const& other) const {
  for (demand const& d : one.asks)
    for (demand const& e : other.asks)
      if (d.of == e.of && (d.held > e.held || d.size > e.size)) return true;
  return false;
}

bool convex_partitioner::is_beaten(std::vector<way> const& all, way const& made) const {
  for (way const& other : all)
    if (other.devices <= made.devices && !holds_more(other, made)) return true;
  return false;
}

void convex_partitioner::keep(std::vector<way>& all, way made) const {
  if (is_beaten(all, made)) return;
  std::erase_if(
      all, [&](way const& other) { return made.devices <= other.devices && !holds_more(made, other); });
  all.push_back(std::move(made));
}

}  // namespace ashlar
