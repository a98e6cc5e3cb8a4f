// Functions of the room refuse what they refused, and find what they found in problems over graphs and
// with schedules on several routes.
#include "random.hpp"
#include "random_cases.hpp"
#include "random_problems.hpp"
#include "recorded_rows.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/braid.hpp>
#include <ashlar/search/cut_requests.hpp>
#include <ashlar/search/graph_seeds.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/search/micro_batch_order.hpp>
#include <ashlar/search/offload.hpp>
#include <ashlar/search/offload_search.hpp>
#include <ashlar/search/paged_order.hpp>
#include <ashlar/search/request_search.hpp>
#include <ashlar/search/residency.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/search/successive_halving.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace {

using namespace random_case;
using numbers = recorded_rows::row;
using recorded_rows::put;
using recorded_rows::tag;

std::int64_t tag_of(schedule const& s) {
  tag all;
  for (auto const& line : s.order)
    for (time_slot const& t : line)
      all.add(static_cast<int>(t.what.kind), t.what.stage, t.what.micro_batch, t.start);
  return all.sum();
}

template <class List>
std::int64_t tag_of_numbers(List const& list) {
  tag all;
  for (auto const& each : list) all.add(static_cast<std::int64_t>(each));
  return all.sum();
}

void put(numbers& row, diagnosis const& d) {
  put(row, static_cast<int>(d.broken), d.number, d.given, static_cast<int>(d.which));
  put(row, d.first.device, d.first.index, d.first.what.stage, d.second.device);
}

// The result of a call in numbers, or the rule that it says is broken.
template <class Call>
void put_result(numbers& row, Call call) {
  try {
    call();
  } catch (violation const& e) {
    put(row, e.why);
  }
}

// Over a graph that may be a chain, with stages that may recompute or take several micro-batches at
// once.
search_problem graph_problem(dice& d) {
  search_problem problem = random_problem(d);
  int const count = problem.where.stage_count();
  if (d.percent(60)) problem.graph = random_graph(d, d.percent(90) ? count : count + 1);
  if (d.percent(60)) problem.sequence_chunks = 1;
  if (d.percent(30) && problem.m.value > 0) differ_by_micro_batch(d, problem.cost, problem.m.value);
  if (d.percent(70)) problem.limit.budget = {d.between(20, 400)};
  if (d.percent(5)) problem.m.value = d.between(-1, 0);
  if (d.percent(5)) problem.m.value = 2'000'000'000;
  if (d.percent(5)) problem.limit.budget.clear();
  return problem;
}

TEST_CASE("as before: problems over graphs, what is wrong with them and with what they begin with") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(120)) {
    search_problem const problem = graph_problem(d), other = d.percent(50) ? graph_problem(d) : problem;
    numbers row;
    put(row, check(problem));
    put_result(row, [&] { put(row, pass_count(problem), tag_of_numbers(recomputed_stages(problem))); });
    if (check(problem).ok()) {
      put(row, tag_of_numbers(smallest_budgets(problem)), problem_bound(problem).span,
          problem_bound(problem).makespan);
      for (schedule const& s : seeds_of(problem)) put(row, tag_of(s));
      put_result(row, [&] { put(row, tag_of(one_f_one_b_of(problem))); });
      search_result const found = search(problem, {.passes = 2000, .seed = seed});
      put(row, found.reached, found.evaluations, tag_of(found.best));
      schedule start = found.best;
      if (check(other).ok() && d.percent(70)) start = seeds_of(other).back();
      if (d.percent(20)) start = split_backward(start);
      if (d.percent(10)) start.mode = execution_mode::inference;
      put(row, check_start(problem, start));
      put(row, has_least_memory(found.best, problem.limit) ? 1 : 0);
      if (is_of_a_chain(problem))
        put_result(row, [&] {
          braided_schedule const made = braid(problem, start, objective::span, 4000);
          put(row, made.reached, made.passes, tag_of(made.best));
        });
      put_result(row, [&] {
        order_budget const few{.evaluations = d.between(1, 90),
                               .seed = seed,
                               .aim = d.percent(50) ? objective::span : objective::makespan};
        put(row, tag_of_numbers(order_for(problem, few)));
      });
      search_start begun(problem);
      put_result(row, [&] {
        begun.add(problem, start);
        put(row, tag_of(begun.seeds.back()));
      });
    }
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/doors_as_before.txt", rows);
}

TEST_CASE("as before: micro-batches on several routes, with memory of their own, in any order") {
  constexpr char const* names[] = {"1f1b", "gpipe", "chimera", "gems", "dualpipe", "bitpipe"};
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(120)) {
    catalog::entry const& entry = *catalog::find(names[d.between(0, 5)]);
    int const p = d.percent(60) ? 2 : 4, m = d.percent(20) ? 4 * p : 2 * p * d.between(1, 2);
    if (!entry.check({.p = devices{p}, .m = micro_batches{m}}).ok()) continue;
    schedule s = entry.make({.p = devices{p}, .m = micro_batches{m}});
    auto const different = static_cast<std::size_t>(d.percent(50) ? 1 : s.stage_count());
    costs cost(std::vector<stage_cost>(different, stage_cost{3, 4, 2}), d.between(0, 2));
    if (d.percent(30)) cost.passes.overlapped = d.between(4, 9);
    if (d.percent(80)) differ_by_micro_batch(d, cost, d.percent(95) ? m : m + 1);
    memory_limit limit = chunk_activations(d.between(1, 3 * m));
    if (d.percent(60)) differ_by_micro_batch(d, limit.memory, d.percent(90) ? m : m + 2, 9);
    numbers row;
    put_result(row, [&] {
      s.cost = cost;
      if (check(s.cost, s.stage_count(), s.device_count(), m, 1).ok()) s = retime(s, cost);
      if (d.percent(5)) s.mode = execution_mode::inference;
      order_budget const budget{.evaluations = d.between(0, 200),
                                .seed = seed,
                                .aim = d.percent(50) ? objective::span : objective::makespan};
      ordered_micro_batches const found =
          order_micro_batches(s, budget, d.percent(70) ? &limit : nullptr);
      put(row, found.reached, found.is_best ? 1 : 0, found.least ? *found.least : -1, found.evaluations,
          tag_of_numbers(found.order), tag_of(found.best));
    });
    std::vector<int> order;
    for (int k = 0; k < m; ++k) order.push_back(d.percent(90) ? m - 1 - k : d.between(-1, m));
    put_result(row, [&] {
      pass_costs const made = in_order(cost.passes, order);
      tag all;
      made.for_each([&](int, int, stage_cost const& c) {
        all.add(c.forward, c.backward_input, c.backward_weight);
      });
      put(row, all.sum());
      put(row, in_order(limit.memory, order).stages.size());
    });
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/routes_as_before.txt", rows);
}

TEST_CASE("as before: offload where little is right, and searches for it with each aim and watch") {
  recorded_rows::table rows;
  FOR_SEEDS(random_cases(48)) {
    search_problem problem = random_problem(d);
    host_link host;
    host.speed.latency = d.between(0, 3);
    host.speed.bandwidth = d.percent(95) ? d.between(0, 9) : -1;
    host.speed.period = d.between(1, 9);
    host.shared_by = d.percent(95) ? d.between(1, 3) : 0;
    numbers row;
    int const stages = d.percent(90) ? problem.where.stage_count() : d.between(-1, 2) * 1'000'000'000;
    put_result(row, [&] { put(row, tag_of_numbers(copy_times(problem.limit.memory, stages, host))); });
    std::vector<schedule> const known =
        check(problem).ok() ? seeds_of(problem) : std::vector<schedule>{};
    memory_limit tight = problem.limit;
    for (byte_count& budget : tight.budget) budget -= budget / d.between(2, 4);
    if (d.percent(5)) tight.budget.assign(7, 9);
    for (schedule const& s : known) {
      tag all;
      put_result(row, [&] {
        for (offload_choice const& c :
             {selective_offload(s, tight, host), steady_offload(s, tight, host),
              offload_share(s, tight.memory, host, d.between(-20, 150))})
          all.add(c.fits ? 1 : 0, c.offload.forwards.size(), tag_of_numbers(c.peak),
                  tag_of_numbers(c.host_peak));
      });
      put_result(row, [&] {
        std::vector<pass> some;
        for (int k = d.between(0, 3); k > 0; --k)
          some.push_back({pass_kind::forward, d.between(0, s.stage_count() - 1), k - 1});
        offload_choice const c = offload_exactly(s, tight, host, some);
        all.add(c.fits ? 1 : 0, tag_of_numbers(c.peak), tag_of_numbers(c.host_peak));
      });
      put(row, all.sum());
    }
    if (seed % 2 == 0) {
      problem.limit = tight;
      for (stage_memory& each : problem.limit.memory.stages)
        if (d.percent(50)) each = {.stash = each.stash + d.between(0, 1)};
      int left = d.percent(30) ? d.between(0, 9) : 1'000'000;
      auto const watch = [&](list_scheduler::solution const&, std::int64_t) { return left-- > 0; };
      search_budget const budget{
          .passes = 200 * d.between(0, 4), .seed = seed, .aim = static_cast<objective>(d.between(0, 3))};
      put_result(row, [&] {
        if (auto const found = search_offloaded(problem, host, budget, nullptr, watch))
          put(row, found->reached, tag_of(found->best), found->choice.offload.forwards.size(),
              tag_of_numbers(found->choice.peak), found->least.span, found->least.makespan);
      });
    }
    rows.push_back(row);
  }
  recorded_rows::must_be_as_before("search/hosts_as_before.txt", rows);
}

TEST_CASE("as before: shares of a search, and the few schedules that have the least memory") {
  recorded_rows::table rows;
  for (std::int64_t const size : {-1, 0, 1, 7, 600})
    for (bool const is_long : {false, true}) {
      numbers row;
      for (std::int64_t passes = 1; passes < 100'000'000; passes = passes * 5 / 4 + 1)
        put(row, search_count(passes, size, is_long));
      rows.push_back({static_cast<double>(tag_of_numbers(row))});
    }
  for (std::uint64_t const which : {0U, 1U, 9U})
    rows.push_back({static_cast<double>(seed_of(5, which))});
  causal_request const request;
  rows.push_back({static_cast<double>(request.tokens), static_cast<double>(request.whole),
                  static_cast<double>(request.percent)});
  recorded_rows::must_be_as_before("search/shares_as_before.txt", rows);
}

}  // namespace
