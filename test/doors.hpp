// Public functions, called with values of which some are anything: each answers or throws a violation
// that has words, reads nothing that is not there, and comes to an end. For property tests and fuzzers.
#pragma once

#include "extreme_values.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/training/partition.hpp>
#include <ashlar/plan/training/planner.hpp>
#include <ashlar/render/activations.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/search/search.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace doors {

using namespace extreme_fields;

// Whatever else is thrown, and a violation without words, ends the program.
template <class Call>
void knock(Call call) {
  try {
    call();
  } catch (violation const& v) {
    if (v.why.ok() || explain(v.why).empty()) std::abort();
  }
}

inline void demand(bool holds) {
  if (!holds) std::abort();
}

inline double extreme_real(dice& d, double old) {
  double const inf = std::numeric_limits<double>::infinity();
  double const near[] = {0, -0.0, -1, 1e-300, 1e300, inf, -inf, std::nan(""), 1e18, 1, old / 2, 2 * old};
  return near[d.between(0, 11)];
}

inline catalog::entry const& some_entry(dice& d) {
  for (;;) {
    std::size_t const i = static_cast<std::size_t>(d.between(0, 255)) % std::size(catalog::entries);
    catalog::entry const& e = catalog::entries[i];
    if (e.check({devices{2}, micro_batches{4}}).ok()) return e;
    return *catalog::find("1f1b");
  }
}

// What is valid stays valid, and no shorter than its bound.
inline void demand_valid(schedule const& s) {
  demand(check(s).ok());
  if (auto const least = schedule_bound(s)) demand(span(s) >= least->span);
}

inline void of_schedules(dice& d) {
  schedule s = some_entry(d).make({devices{2}, micro_batches{4}});
  schedule const good = s;
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, s);
  bool const valid = check(s).ok();
  knock([&] {
    schedule const t = squeeze(s);
    if (valid) demand_valid(t);
  });
  knock([&] {
    costs other = s.cost;
    change_cost(d, other);
    retime(s, other);
  });
  for (reordering const how : {reordering::at_ends, reordering::throughout})
    knock([&] {
      schedule const t = reorder(s, how);
      if (valid) demand_valid(t);
    });
  knock([&] { shift(s, extreme(d, tick{3})); });
  knock([&] { then(s, good); });
  knock([&] { then(good, s); });
  knock([&] { merge(s, good); });
  knock([&] { split_backward(s); });
  knock([&] { take(s, micro_batches{extreme(d, 2)}); });
  knock([&] { recompute(s, {extreme(d, 1)}); });
  knock([&] { mirror(s); });
}

inline void of_blocks(dice& d) {
  catalog::entry const& e = some_entry(d);
  if (e.block_of == nullptr) return;
  block b = e.block_of({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 3); changes > 0; --changes) change(d, b);
  tick const factor = extreme(d, tick{3});
  knock([&] { shift(b, factor); });
  knock([&] { scale(b, factor); });
  knock([&] { spread(b, factor); });
  knock([&] { unroll(b, d.percent(50) ? d.between(-1, 9) : extreme(d, 3)); });
  knock([&] { delay(b, b.cells.empty() ? pass{} : b.cells[0].what, factor); });
  knock([&] { split_backward(b); });
  knock([&] { fuse_backward(b); });
  knock([&] { recompute(b); });
  knock([&] { weights_in_first_gaps(b); });
  knock([&] { mirror(b); });
  knock([&] { repeat(b, micro_batches{d.between(-1, 40)}); });
  knock([&] { looped(devices{extreme(d, 2)}, chunks{extreme(d, 2)}); });
  knock([&] { wave(devices{extreme(d, 2)}, waves{extreme(d, 2)}); });
  knock([&] { stretch_transfers(b.cost, factor); });
}

inline void of_pictures(dice& d) {
  catalog::entry const& e = some_entry(d);
  schedule s = e.make({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  std::string const name(static_cast<std::size_t>(d.between(0, 3)),
                         static_cast<char>(d.between(0, 255)));
  time_unit const unit{extreme(d, tick{1}), name};
  constexpr std::size_t most = 1 << 22;
  knock([&] { demand(text(s, {false, extreme(d, 80), unit.ticks}).size() < most); });
  knock([&] {
    demand(svg(s, {.title = name,
                   .widest = extreme_real(d, 400),
                   .transfers = d.percent(50),
                   .memory = d.percent(50),
                   .unit = unit})
               .size()
           < most);
  });
  knock([&] { demand(html(s, {.title = name, .name = name, .unit = unit}).size() < most); });
  knock([&] { chrome_trace(s, extreme_real(d, 1000)); });
  knock([&] { held_activations(s); });
  if (e.block_of == nullptr) return;
  block b = e.block_of({devices{2}, micro_batches{4}});
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, b);
  knock([&] { demand(text(b, {false, extreme(d, 80), unit.ticks}).size() < most); });
  knock([&] { demand(svg(b, {.title = name, .widest = extreme_real(d, 400)}).size() < most); });
}

inline memory_limit some_limit(dice& d) {
  memory_limit limit = chunk_activations(d.between(0, 4));
  if (d.percent(40)) change_list(d, limit.budget);
  if (d.percent(30)) change_memory(d, limit.memory);
  return limit;
}

inline void of_searches(dice& d) {
  schedule s = catalog::find(d.percent(50) ? "1f1b" : "zb-h1")->make({devices{2}, micro_batches{3}});
  memory_limit const limit = some_limit(d);
  for (int changes = d.between(0, 2); changes > 0; --changes) change(d, s);
  search_budget const budget{.passes = d.between(-1, 300),
                             .seed = static_cast<std::uint64_t>(d.between(0, 9)),
                             .aim = static_cast<objective>(d.between(0, 3)),
                             .goal = extreme(d, tick{20})};
  knock([&] { is_within(s, limit); });
  knock([&] { demand(is_within(improve({s}, limit, budget), limit)); });
  search_problem problem{.where = random_placement(d, devices{d.between(1, 3)}, stages{d.between(1, 4)}),
                         .m = micro_batches{d.between(-1, 3)},
                         .cost = {},
                         .limit = limit,
                         .sequence_chunks = d.percent(80) ? 1 : d.between(-1, 3)};
  for (int changes = d.between(0, 2); changes > 0; --changes) change_cost(d, problem.cost);
  knock([&] {
    search_result const r = search(problem, {.passes = budget.passes, .aim = budget.aim});
    demand(check(r.best).ok() && is_within(r.best, limit) && r.reached >= r.bound_of(budget.aim));
  });
}

inline void change_question(dice& d, plan_question& q) {
  device_kind& kind = q.kinds[0];
  double* const reals[] = {&kind.machine.flops,      &kind.machine.inside,     &kind.machine.between,
                           &kind.machine.memory,     &kind.constants.products, &kind.constants.exchange,
                           &q.model.hidden,          &q.model.feed_forward,    &q.model.heads,
                           &q.model.key_value_heads, &q.model.vocabulary,      &q.model.sequence,
                           &q.model.experts,         &q.model.value_bytes,     &q.margin,
                           &q.between_kinds,         &q.widths.whole,          &q.widths.scores};
  int* const counts[] = {&kind.count,
                         &kind.machine.node_size,
                         &q.model.layers,
                         &q.batch,
                         &q.largest_micro_batch,
                         &q.tensor,
                         &q.kind,
                         &q.chunks[0]};
  if (d.percent(60)) {
    double& chosen = *reals[static_cast<std::size_t>(d.between(0, 17))];
    chosen = extreme_real(d, chosen);
  } else {
    int& chosen = *counts[static_cast<std::size_t>(d.between(0, 7))];
    int const given = extreme(d, chosen);
    chosen = given > 100 && given < (1 << 24) ? 4 : given;
  }
}

inline void of_plans(dice& d) {
  plan_question q;
  q.model = {.layers = 4, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
  q.kinds[0].machine = {.flops = 1e6, .inside = 1e6, .between = 1e6, .memory = 1e5, .node_size = 2};
  q.kinds[0].count = 4;
  q.batch = 4;
  q.largest_micro_batch = 1;
  q.tensor = 1;
  for (int changes = d.between(0, 2); changes > 0; --changes) change_question(d, q);
  knock([&] {
    plan_answer const a = answer(q, {catalog::find("1f1b")}, static_cast<std::size_t>(d.between(0, 3)),
                                 [](plan_phase, std::size_t, std::size_t) {});
    for (planned_step const& step : a.best)
      demand(step.seconds >= step.bound && step.bytes <= step.budget);
  });
  std::vector<std::vector<variant>> things(static_cast<std::size_t>(d.between(0, 4)));
  for (auto& thing : things) {
    thing.resize(static_cast<std::size_t>(d.between(0, 3)));
    for (variant& v : thing) v = {d.between(0, 9), d.between(0, 9), 0};
    if (d.percent(20)) put(d, thing, &variant::memory);
    if (d.percent(20)) put(d, thing, &variant::time);
  }
  byte_count const room = d.percent(80) ? d.between(0, 30) : extreme(d, byte_count{9});
  knock([&] {
    choice const c = choose(things, room);
    demand(c.missing > 0 || c.what.memory <= room);
  });
  cut_costs cut{.layer = std::vector<double>(static_cast<std::size_t>(d.between(0, 6)), 1.0),
                .volume = std::vector<double>(static_cast<std::size_t>(d.between(0, 6)), 1.0),
                .link = std::vector<double>(static_cast<std::size_t>(d.between(0, 4)), 1.0),
                .repeats = d.percent(80) ? 3 : extreme_real(d, 3)};
  for (auto* list : {&cut.layer, &cut.volume, &cut.link})
    if (!list->empty() && d.percent(20)) one_of(d, *list) = extreme_real(d, 1);
  int const count = d.percent(80) ? d.between(0, 5) : extreme(d, 3);
  knock([&] {
    std::vector<int> const sizes = best_partition(cut, count);
    demand(pipeline_time(cut, sizes) >= 0);
  });
  knock([&] { uniform_partition(extreme(d, 9), d.between(-2, 5), extreme(d, 1), extreme(d, 1)); });
}

}  // namespace doors
