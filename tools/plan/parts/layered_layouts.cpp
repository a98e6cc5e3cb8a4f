#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/plan/parts/partition.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace ashlar::plan_detail {

// Missing memory, then a time.
using division_value = std::pair<byte_count, tick>;

}  // namespace ashlar::plan_detail

namespace ashlar {

layout_choice with_layers(layer_chain const& model, layout_choice plain, std::vector<int> sizes,
                          layer_division division) {
  int const stage_count = plain.problem.where.stage_count();
  if (static_cast<int>(sizes.size()) != stage_count)
    refuse(wrong_size(table::stage_costs, sizes.size(), stage_count));
  if (model.m.value < 1) refuse({.broken = rule::counts_are_positive, .number = model.m.value});
  if (int const p = plain.problem.where.device_count();
      model.budget.size() != 1 && static_cast<int>(model.budget.size()) != p)
    refuse(wrong_size(table::device_budgets, model.budget.size(), p));
  for (byte_count const budget : model.budget)
    if (budget < 0) refuse({.broken = rule::sizes_fit, .number = budget});
  std::size_t dealt = 0;
  for (int const size : sizes) {
    if (size < 0) refuse({.broken = rule::counts_are_positive, .number = size});
    dealt += static_cast<std::size_t>(size);
  }
  if (dealt != model.layers.size())
    refuse(wrong_size(table::stage_costs, dealt, static_cast<std::int64_t>(model.layers.size())));
  plain.unit = 1;
  plain.memory_unit = 1;
  plain.problem.m = model.m;
  plain.problem.limit = {.memory = {.stages = {}}, .budget = model.budget};
  std::vector<stage_cost> each;
  std::size_t at = 0;
  for (int const size : sizes) {
    stage_cost cost = stage_cost::nothing();
    stage_memory memory;
    for (int i = 0; i < size; ++i, ++at) {
      layer_share const& one = model.layers[at];
      site const place{.index = static_cast<int>(at)};
      for (pass_kind const kind : {pass_kind::forward, pass_kind::backward_input,
                                   pass_kind::backward_weight, pass_kind::recompute})
        if (tick const time = one.cost.of(kind); time < 0)
          refuse({.broken = rule::no_duration_is_negative, .first = place, .number = time});
      for (byte_count const size_of : {one.resident, one.stash})
        if (size_of < 0) refuse({.broken = rule::sizes_fit, .first = place, .number = size_of});
      cost.add(one.cost);
      memory.weights = saturating_sum(memory.weights, one.resident);
      memory.stash = saturating_sum(memory.stash, one.stash);
    }
    if (cost.recompute == cost.forward) cost.recompute = stage_cost::same_as_forward;
    each.push_back(cost);
    plain.problem.limit.memory.stages.push_back(memory);
  }
  plain.problem.cost = {std::move(each), model.on, model.message};
  plain.layers = static_cast<std::vector<int>&&>(sizes);
  plain.division = division;
  return plain;
}

}  // namespace ashlar

namespace ashlar::plan_detail {

// Descends from a division to the first one that differs in one layer and has a smaller value, until
// there is none or `most` have been tried. `reach`: how many stages a layer may move.
std::vector<int> descended(std::vector<int> sizes, int reach, int most,
                           function_ref<division_value(std::vector<int> const&)> value) {
  int const count = static_cast<int>(sizes.size());
  auto least = value(sizes);
  for (bool moved = true; moved;) {
    moved = false;
    for (int from = 0; from < count; ++from)
      for (int to = max_of(0, from - reach); to < min_of(count, from + reach + 1); ++to) {
        auto const a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
        if (a == b || sizes[a] == 1) continue;
        if (--most < 0) return sizes;
        --sizes[a];
        ++sizes[b];
        auto const found = value(sizes);
        if (found < least) {
          least = found;
          moved = true;
        } else {
          ++sizes[a];
          --sizes[b];
        }
      }
  }
  return sizes;
}

tick busiest_of(search_problem const& problem) {
  std::vector<tick> load(static_cast<std::size_t>(problem.where.device_count()), 0);
  tick most = 0;
  for (int stage = 0; stage < problem.where.stage_count(); ++stage) {
    int const device = problem.where.device_of(0, stage);
    tick& sum = nth(load, device);
    for (pass_kind const kind : {pass_kind::forward, pass_kind::backward})
      sum = saturating_sum(sum, problem.cost.of({kind, stage, 0}, device));
    most = max_of(most, sum);
  }
  return most;
}

// An estimate to compare divisions. First comes the memory that devices lack for any schedule; then
// roughly the shortest time: the bound for a few micro-batches, plus the busiest device's work for the
// others.
division_value estimate_of(search_problem problem) {
  byte_count lacking = 0;
  std::vector<byte_count> const least = smallest_budgets(problem);
  for (int d = 0; d < problem.where.device_count(); ++d)
    lacking = saturating_sum(lacking, max_of<byte_count>(0, nth(least, d) - problem.limit.budget_of(d)));
  int const few = min_of(problem.m.value, 2 * problem.where.device_count());
  tick const others = saturating_product(problem.m.value - few, busiest_of(problem));
  problem.m = micro_batches{few};
  return {lacking, lacking > 0 ? others : saturating_sum(others, problem_bound(problem).span)};
}

}  // namespace ashlar::plan_detail

namespace ashlar {

std::vector<layout_choice> divisions_of(layer_chain const& model, layout_choice const& plain,
                                        int most_bounds, int most_divisions) {
  int const stage_count = plain.problem.where.stage_count(),
            layer_count = static_cast<int>(model.layers.size());
  std::vector<layout_choice> found;
  auto const add = [&](std::vector<int> sizes, layer_division division) {
    for (layout_choice const& known : found)
      if (known.layers == sizes) return;
    found.push_back(with_layers(model, plain, static_cast<std::vector<int>&&>(sizes), division));
  };
  add(uniform_partition(layer_count, stage_count), layer_division::even);
  if (diagnosis const d = check(found[0].problem.cost, stage_count, plain.problem.where.device_count(),
                                model.m.value, 1);
      !d.ok())
    refuse(d);
  cut_costs cuts{.layer = {},
                 .volume = std::vector<double>(model.layers.size(), 0.0),
                 .link = std::vector<double>(static_cast<std::size_t>(stage_count), 0.0),
                 .repeats = 1};
  for (layer_share const& one : model.layers)
    cuts.layer.push_back(static_cast<double>(one.cost.of(pass_kind::forward))
                         + static_cast<double>(one.cost.of(pass_kind::backward)));
  auto const problem_of = [&](std::vector<int> const& sizes) {
    return with_layers(model, plain, sizes, layer_division::balanced).problem;
  };
  std::vector<int> const balanced = plan_detail::descended(
      best_partition(cuts, stage_count), stage_count, std::numeric_limits<int>::max(),
      [&](std::vector<int> const& sizes) {
        return plan_detail::division_value{0, plan_detail::busiest_of(problem_of(sizes))};
      });
  add(balanced, layer_division::balanced);
  if (most_bounds == 0) return found;
  // If memory binds, a division balanced by time may be far from a good one, so it descends from both.
  auto const estimate = [&](std::vector<int> const& sizes) {
    return plan_detail::estimate_of(problem_of(sizes));
  };
  std::vector<int> const from_even =
      plan_detail::descended(found[0].layers, 1, most_bounds / 2, estimate);
  std::vector<int> const from_balanced = plan_detail::descended(balanced, 1, most_bounds / 2, estimate);
  bool const even_is_better = estimate(from_even) < estimate(from_balanced);
  add(even_is_better ? from_even : from_balanced, layer_division::by_bound);
  if (division_count(layer_count, stage_count) > most_divisions) return found;
  // In the order of their last stages; the first stage has the remaining layers.
  std::vector<int> sizes(static_cast<std::size_t>(stage_count), 1);
  sizes[0] = layer_count - stage_count + 1;
  for (;;) {
    add(sizes, layer_division::other);
    std::size_t at = 1;
    while (at < sizes.size() && sizes[0] == 1) {
      sizes[0] += sizes[at] - 1;
      sizes[at++] = 1;
    }
    if (at == sizes.size()) return found;
    --sizes[0];
    ++sizes[at];
  }
}

std::int64_t division_count(int layers, int stage_count) {
  if (stage_count < 1 || layers < stage_count) return 0;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t count = 1;  // ways to choose stages - 1 of layers - 1 cuts
  int const cuts = min_of(stage_count - 1, layers - stage_count);
  for (int i = 1; i <= cuts; ++i) {
    int const places = layers - 1 - cuts + i;
    if (count > most / places) return most;
    count = count * places / i;
  }
  return count;
}

std::vector<layout_choice> layouts_for(layer_chain const& model, devices p, variety const& how) {
  std::vector<layout_choice> found;
  for (layout_choice const& plain :
       plain_layouts({p, model.m, {pass_costs(), model.on, model.message}}, 100))
    if (plain.problem.where.stage_count() <= static_cast<int>(model.layers.size()))
      for (layout_choice const& divided : divisions_of(model, plain))
        for (layout_choice& c : variants_of(divided, how))
          if (check(c.problem).ok()) found.push_back(static_cast<layout_choice&&>(c));
  return found;
}

}  // namespace ashlar
