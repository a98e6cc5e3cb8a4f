// Searches of random problems find what they found before. Other tests say what is right; these notice
// what changes: a search that finds another schedule.
#include "part_lists.hpp"
#include "random.hpp"
#include "random_cases.hpp"
#include "random_problems.hpp"
#include "recorded_rows.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/braid.hpp>
#include <ashlar/search/cut_requests.hpp>
#include <ashlar/search/graph_seeds.hpp>
#include <ashlar/search/host_ladder.hpp>
#include <ashlar/search/layout_freedoms.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/search/micro_batch_order.hpp>
#include <ashlar/search/offload.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/paged_order.hpp>
#include <ashlar/search/portfolio.hpp>
#include <ashlar/search/request_search.hpp>
#include <ashlar/search/residency.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/search/seeds.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace search_as_before {

namespace {

using namespace random_case;

using numbers = recorded_rows::row;
using recorded_rows::put;
using recorded_rows::tag;

void add(tag& all, pass const& p) { all.add(static_cast<int>(p.kind), p.stage, p.micro_batch); }

std::int64_t tag_of(schedule const& s) {
  tag all;
  for (auto const& line : s.order) {
    all.add(static_cast<int>(line.size()));
    for (time_slot const& t : line) {
      add(all, t.what);
      all.add(t.start);
    }
  }
  return all.sum();
}

std::int64_t tag_of(std::vector<pass> const& passes) {
  tag all;
  for (pass const& p : passes) add(all, p);
  return all.sum();
}

template <class Number>
std::int64_t tag_of(std::vector<Number> const& list) {
  tag all;
  for (Number const& each : list) all.add(static_cast<std::int64_t>(each));
  return all.sum();
}

void put(numbers& row, search_result const& r) {
  for (std::int64_t const each : {std::int64_t{r.reached}, std::int64_t{r.least.makespan},
                                  std::int64_t{r.least.span}, r.passes, r.evaluations, tag_of(r.best)})
    put(row, each);
}

void put(numbers& row, offload_choice const& c) {
  put(row, c.fits ? 1 : 0);
  put(row, tag_of(c.offload.forwards));
  put(row, tag_of(c.offload.copy));
  put(row, tag_of(c.peak));
  put(row, tag_of(c.host_peak));
}

search_problem searchable_problem(dice& d) {
  for (;;) {
    search_problem problem = random_problem(d);
    if (check(problem).ok()) return problem;
  }
}

host_link random_host(dice& d) {
  host_link host;
  host.speed.latency = d.between(0, 3);
  host.speed.bandwidth = d.between(1, 9);
  host.speed.period = d.between(1, 9);
  host.shared_by = d.between(1, 2);
  return host;
}

TEST_CASE("as before: searches of random problems, with every objective and budget") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(240)) {
    search_problem const problem = searchable_problem(d);
    std::int64_t const passes = d.percent(70) ? d.between(0, 3000) : d.between(3000, 40'000);
    auto const aim = static_cast<objective>(d.between(0, 3));
    search_start start(problem);
    numbers row;
    put(row, start.seeds.size());
    for (schedule const& s : start.seeds) put(row, tag_of(s));
    if (d.percent(30)) start.add(problem, start.seeds.back());
    put(row, search(problem, start, {.passes = passes, .seed = seed, .aim = aim}));
    put(row, tag_of(smallest_budgets(problem)));
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/problems_as_before.txt", rows);
}

TEST_CASE("as before: searches that several share") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(24)) {
    search_problem const problem = searchable_problem(d);
    std::int64_t const passes = 100'000 * d.between(1, 4);
    numbers row;
    put(row, search(problem, {.passes = passes, .seed = seed, .aim = objective::span}));
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/shared_as_before.txt", rows);
}

TEST_CASE("as before: searches of long schedules and at the least memory") {
  recorded_rows::table rows;
  for (int const p : {2, 4})
    for (int const m : {6, 40, 90})
      for (int const held : {p, 2 * p, 4 * p})
        for (std::int64_t const passes : {20'000, 150'000}) {
          search_problem const problem{.where = v_shape(devices{p}),
                                       .m = micro_batches{m},
                                       .cost = costs(stage_cost{10, 13, 7}, 1),
                                       .limit = chunk_activations(held)};
          if (!check(problem).ok()) continue;
          numbers row;
          put(row, search(problem, {.passes = passes, .aim = objective::span}));
          rows.push_back(row);
        }
  recorded_rows::must_be_as_before("search/long_as_before.txt", rows);
}

TEST_CASE("as before: layouts, their variants, and what is found on them") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(32)) {
    model_share model{.p = devices{d.between(1, 4)}, .m = micro_batches{d.between(2, 6)}, .cost = {}};
    stage_cost const alike{d.between(4, 20), d.between(4, 20), d.between(4, 20)};
    model.cost = costs(alike, d.between(0, 3));
    variety how{.kept_percent = {d.percent(50) ? 100 : d.between(5, 60)},
                .most_sequence_chunks = d.percent(50) ? 1 : 2};
    if (d.percent(50)) how.causal = {.forward = 30, .backward_input = 40};
    std::vector<layout_choice> choices = layouts_for(model, d.between(30, 140), how);
    numbers row;
    put(row, choices.size());
    for (layout_choice const& c : choices) {
      for (std::int64_t const each :
           {std::int64_t{static_cast<int>(c.shape)}, std::int64_t{c.chunk_count},
            std::int64_t{c.recomputed_chunks}, std::int64_t{c.sequence_chunks}, std::int64_t{c.unit},
            c.memory_unit, tag_of(recomputed_stages(c.problem)), tag_of(c.problem.limit.budget)})
        put(row, each);
    }
    if (choices.size() > 12) choices.resize(12);
    if (!choices.empty()) {
      auto const aim = static_cast<objective>(d.between(0, 2));
      std::vector<searched_layout> const found =
          search_layouts(choices, {.passes = 30'000, .seed = seed, .aim = aim});
      for (searched_layout const& s : found) put(row, s.result);
      proved_layouts const proof = proved_of(found);
      put(row, proof.best);
      put(row, proof.least);
      put(row, proof.gap);
      put(row, best_of(found));
    }
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/layouts_as_before.txt", rows);
}

TEST_CASE("as before: choices that are made, and what is refused") {
  recorded_rows::table rows;
  layout_choice const plain{};
  rows.push_back({});
  put(rows.back(), static_cast<int>(plain.shape), plain.chunk_count, plain.recomputed_chunks,
      plain.sequence_chunks, plain.unit, plain.memory_unit, proved_layouts{}.best,
      proved_layouts{}.least, proved_layouts{}.gap, proved_layouts{}.is_optimal ? 1 : 0,
      braided_schedule{}.reached, braided_schedule{}.passes, search_result{}.reached,
      search_result{}.passes, search_result{}.evaluations, residency_choice{}.makespan,
      residency_choice{}.excess, request_budget{}.evaluations, request_budget{}.seed,
      order_budget{}.evaluations, order_budget{}.seed, offload_choice{}.fits ? 1 : 0,
      residency_limit{}.stages, ordered_micro_batches{}.evaluations, ordered_micro_batches{}.reached);
  FOR_SEEDS(random_cases(80)) {
    search_problem problem = random_problem(d);
    if (d.percent(10)) problem.m.value = 0;
    if (d.percent(10)) problem.sequence_chunks = d.between(-1, 4);
    if (d.percent(20)) problem.limit.budget[0] /= 2;
    variety how{.kept_percent = {d.between(-1, 101)}};
    if (d.percent(40)) {
      std::size_t const count = d.percent(70) ? 4 : 2;
      how.kept_percent.assign(count, d.between(0, 100));
    }
    int const q = d.between(0, 3);
    numbers row;
    for (diagnosis const& found : {check(how, problem, q), check(problem)})
      put(row, static_cast<int>(found.broken), found.number, found.given);
    int const percent = d.between(0, 120), chunk_count = d.between(1, 3), devices_of = d.between(1, 4);
    try {
      layout_choice const c = choose_layout(
          {.p = devices{devices_of}, .m = micro_batches{4}, .cost = costs(stage_cost{3, 4, 5}, 2)},
          static_cast<placement_kind>(d.between(0, 3)), chunk_count, percent);
      put(row, c.unit, c.memory_unit, tag_of(c.problem.limit.budget), c.problem.cost.transfer(0, 1),
          tag_of(first_chunks(c.problem.where, d.between(0, 2))));
      for (layout_choice const& each : variants_of(c, {.kept_percent = {40}, .most_sequence_chunks = 2}))
        put(row, tag_of(recomputed_stages(each.problem)), tag_of(each.problem.limit.budget), each.unit,
            each.memory_unit, pass_count(each.problem));
    } catch (violation const& e) {
      put(row, -1 - static_cast<int>(e.why.broken));
    }
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/choices_as_before.txt", rows);
}

TEST_CASE("as before: requests, and how they are cut") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(60)) {
    request_problem problem{
        d.percent(50) ? linear(devices{d.between(1, 4)}) : v_shape(devices{2}), {}, {}};
    bool const wait = d.percent(50);
    for (int r = d.between(1, 9); r > 0; --r) {
      int const parts = d.between(1, 3);
      problem.asked.push_back({parts, wait ? d.between(0, 40) : 0});
    }
    int const m = micro_batch_count(problem.asked);
    std::vector<stage_cost> each;
    for (int i = 0; i < m * problem.where.stage_count(); ++i)
      each.push_back({.forward = d.between(1, 9)});
    problem.cost = costs(pass_costs::by_stage_and_micro_batch(each, m), d.between(0, 2));
    auto const aim = static_cast<request_objective>(d.between(0, 2));
    request_schedule const found =
        search_requests(problem, {.evaluations = d.between(0, 400), .aim = aim, .seed = seed});
    numbers row;
    for (std::int64_t const number :
         {std::int64_t{found.reached}, std::int64_t{found.least.of(aim)}, found.evaluations,
          tag_of(found.best), tag_of(request_ends(found.best, problem.asked))})
      put(row, number);
    causal_request const request{
        .tokens = d.between(1, 4000), .whole = d.between(0, 9000), .percent = d.between(0, 100)};
    int const count = d.between(1, 9);
    int const granule = d.percent(50) ? 1 << d.between(0, 6) : d.between(1, 64);
    put(row, tag_of(cut_into_chunks(request.tokens, count, granule, request)));
    causal_request const whole{.tokens = granule * count, .whole = d.between(0, 900), .percent = 0};
    put(row, tag_of(cut_into_chunks(whole.tokens, count, granule, whole)));
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/requests_as_before.txt", rows);
}

TEST_CASE("as before: values that leave for the hosts") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(60)) {
    search_problem problem = searchable_problem(d);
    std::vector<schedule> const known = seeds_of(problem);
    schedule const& s = nth(known, d.between(0, static_cast<int>(known.size()) - 1));
    host_link const host = random_host(d);
    memory_limit tight = problem.limit;
    for (byte_count& budget : tight.budget) budget -= budget / 3;
    numbers row;
    offload_choice const chosen = selective_offload(s, tight, host);
    put(row, chosen);
    put(row, steady_offload(s, tight, host));
    put(row, offload_share(s, tight.memory, host, d.between(0, 100)));
    put(row, offload_exactly(s, tight, host, chosen.offload.forwards));
    paged_order const paging(s, tight, host);
    put(row, paging.is_possible() ? 1 : 0);
    schedule moved = s;
    std::vector<pass> away;
    auto const length = [](schedule const& each) { return makespan(each); };
    if (paging.is_possible() && improve_paged(paging, moved, away, 60, seed, length)) {
      put(row, tag_of(moved));
      put(row, tag_of(away));
    }
    host_ladder const ladder(tight.memory, s.stage_count(), host);
    tick const ticks = d.between(0, 40), last = d.between(0, 300);
    put(row, ladder.given(), ladder.where_smallest_takes(ticks),
        tag_of(ladder.rungs(last, d.between(1, 5))), ladder.at(7).time_of(5));
    if (seed % 3 == 0) {
      problem.limit = tight;
      if (d.percent(60))  // nothing is kept but stashes
        for (stage_memory& each : problem.limit.memory.stages)
          each = {.stash = each.stash + d.between(0, 1)};
      search_budget const budget{
          .passes = 1500, .seed = seed, .aim = static_cast<objective>(d.between(0, 2))};
      if (auto const found = search_offloaded(problem, host, budget)) {
        put(row, found->reached);
        put(row, tag_of(found->best));
        put(row, found->choice);
      }
    }
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/offload_as_before.txt", rows);
}

TEST_CASE("as before: searches for copies that may move passes often") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(16)) {
    search_problem problem = searchable_problem(d);
    host_link const host = random_host(d);
    for (byte_count& budget : problem.limit.budget) budget -= budget / 3;
    search_budget const budget{
        .passes = 6000 * d.between(1, 9), .seed = seed, .aim = static_cast<objective>(d.between(0, 2))};
    std::int64_t asked = 0;  // once for each link that is tried, too
    auto const watch = [&](list_scheduler::solution const&, std::int64_t) { return ++asked > 0; };
    numbers row;
    for (int const stashes : {0, 1}) {
      for (stage_memory& each : problem.limit.memory.stages)
        if (stashes == 1) each = {.stash = each.stash + d.between(0, 1)};
      try {
        auto const found = search_offloaded(problem, host, budget, nullptr, watch);
        put(row, asked, found ? found->reached : -1);
        if (!found) continue;
        put(row, tag_of(found->best));
        put(row, found->choice);
      } catch (violation const& e) {
        put(row, -2 - static_cast<int>(e.why.broken));
      }
    }
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/moved_copies_as_before.txt", rows);
}

TEST_CASE("as before: orders of micro-batches") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(80)) {
    constexpr char const* names[] = {"1f1b", "gpipe", "zb-h1", "v-half", "chimera", "interleaved-zb"};
    catalog::entry const& entry = *catalog::find(names[d.between(0, 5)]);
    int const m = 2 * d.between(1, 7), p = 2;
    if (!entry.check({.p = devices{p}, .m = micro_batches{m}}).ok()) continue;
    schedule const uniform = entry.make({.p = devices{p}, .m = micro_batches{m}});
    int const stages = d.percent(50) ? 1 : uniform.stage_count(), longest = d.percent(50) ? 3 : 20;
    std::vector<stage_cost> each;
    for (int i = 0; i < stages * m; ++i) {
      int const length = d.between(1, longest);
      each.push_back({length, length + length / 2, length});
    }
    costs const cost(pass_costs::by_stage_and_micro_batch(each, m), d.between(0, 2));
    schedule const s = retime(uniform, cost);
    auto const aim = d.percent(50) ? objective::span : objective::makespan;
    memory_limit limit = chunk_activations(uniform.micro_batch_count());
    differ_by_micro_batch(d, limit.memory, m, 4);
    limit.budget = {d.between(4, 30)};
    constexpr int counts[] = {1, 2, 6, 20, 24, 70, 90, 300, 720};  // of orders, some of them
    std::int64_t const evaluations = counts[d.between(0, 8)];
    ordered_micro_batches const found = order_micro_batches(
        s, {.evaluations = evaluations, .seed = seed, .aim = aim}, d.percent(40) ? &limit : nullptr);
    numbers row;
    put(row, found.reached, found.is_best ? 1 : 0, found.least ? *found.least : -1, found.evaluations,
        tag_of(found.order), tag_of(found.best));
    if (stages == 1) {
      search_problem const problem{.where = linear(devices{p}),
                                   .m = micro_batches{m},
                                   .cost = cost,
                                   .limit = chunk_activations(p)};
      put(row, tag_of(order_for(problem, {.evaluations = 100, .seed = seed, .aim = aim})),
          with_orders({{.problem = problem}}, aim).size());
    }
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/orders_as_before.txt", rows);
}

TEST_CASE("as before: pairs") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(30)) {
    using namespace part_lists;
    tick const exchange = d.between(0, 5), own = d.between(1, 6);
    stage_parts const layer{
        .forward = {computes(own), exchanges(exchange), computes(4), exchanges(exchange)},
        .backward = {exchanges(exchange), computes(4), computes(4, true), exchanges(exchange),
                     computes(own), computes(own, true)}};
    int const p = d.between(2, 3), m = d.between(2, 8);
    search_problem const problem{.where = d.percent(50) ? linear(devices{p}) : v_shape(devices{p}),
                                 .m = micro_batches{m},
                                 .cost = costs(costs_of(part_costs{.stages = {layer}})),
                                 .limit = chunk_activations(d.between(p, 3 * p))};
    if (!check(problem).ok()) continue;
    auto const aim = static_cast<objective>(d.between(0, 3));
    search_result const plain = search(problem, {.passes = 2000, .aim = aim});
    braided_schedule const made = braid(problem, plain.best, aim, 1000 * d.between(0, 30));
    bound const least = braided_bound(problem);
    numbers row;
    for (std::int64_t const each : {std::int64_t{made.reached}, made.passes, tag_of(made.best),
                                    std::int64_t{least.makespan}, std::int64_t{least.span}})
      put(row, each);
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/pairs_as_before.txt", rows);
}

TEST_CASE("as before: which weights stay gathered, and schedules of graphs") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(12)) {
    constexpr char const* names[] = {"interleaved-zb", "v-half", "breadth-first", "depth-first"};
    catalog::entry const& entry = *catalog::find(names[d.between(0, 3)]);
    schedule const s = entry.make({.p = devices{2}, .m = micro_batches{4}});
    simulation_options o;
    o.cost = s.cost;
    o.cost.on.collective = {.bandwidth = 50, .period = d.between(1, 9)};
    o.memory.stages = {{.weights = 100, .weight_gradient = 100, .stash = d.between(1, 40)}};
    residency_limit limit{.stages = d.between(1, 3)};
    if (d.percent(50)) limit.budgets = {d.between(300, 900)};
    residency_choice const chosen =
        choose_residency(s, {.data_ranks = 2, .sharding = sharding_level::weights}, o, limit);
    numbers row;
    put(row, chosen.makespan);
    put(row, chosen.excess);
    put(row, tag_of(chosen.peak));
    for (auto const& stays : chosen.weights.stays) {
      tag all;
      for (weight_stay const& stay : stays) {
        all.add(stay.stage);
        all.add(stay.fetch);
        all.add(stay.last);
      }
      put(row, all.sum());
    }
    stages const count{d.between(2, 6)};
    stage_graph const graph = chain(count);
    placement const where = random_placement(d, devices{2}, count);
    for (schedule const& seed_schedule :
         graph_seeds(graph, where, micro_batches{4}, costs(stage_cost{3, 4, 2}, 1)))
      put(row, tag_of(seed_schedule));
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/graphs_as_before.txt", rows);
}

}  // namespace

}  // namespace search_as_before
