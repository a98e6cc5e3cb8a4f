#include <ashlar/search/graph_seeds.hpp>
// The header above comes first: it needs nothing before it.
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

// Two branches that join again; a device each, or both ends and both branches on one.
stage_graph joined_branches() { return stage_graph(stages{4}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}); }

TEST_CASE("one micro-batch after the other over a graph") {
  for (placement const& where : {linear(devices{4}), placement(devices{2}, {{0, 1, 1, 0}})}) {
    schedule const s =
        one_after_another(joined_branches(), where, micro_batches{3}, costs(stage_cost{}, 2));
    CHECK((check(s).ok() && s.graph == joined_branches() && s.micro_batch_count() == 3));
    int const each = 4 / where.device_count();
    CHECK(peak_activations(s) == std::vector<int>(static_cast<std::size_t>(where.device_count()), each));
    CHECK(squeeze(s) == s);
  }
}

TEST_CASE("large micro-batches after each other") {
  // The last takes two units at once, the first one: it holds two, which the last one's gradient frees.
  stage_graph const joins = in_micro_batches(chain(stages{2}), {1, 2});
  schedule const s = one_after_another(joins, linear(devices{2}), micro_batches{4}, costs(stage_cost{}));
  CHECK((check(s).ok() && peak_activations(s) == std::vector<int>{2, 1}));
  // If the last one takes the smaller, it is through with each before it takes the next.
  stage_graph const divides = in_micro_batches(chain(stages{2}), {2, 1});
  schedule const t =
      one_after_another(divides, linear(devices{2}), micro_batches{4}, costs(stage_cost{}));
  CHECK((check(t).ok() && peak_activations(t) == std::vector<int>{1, 1}));
}

TEST_CASE("backwards come as soon as they can") {
  // Two ends on one device: the first is through before the second begins.
  stage_graph const fork(stages{3}, {{0, 1}, {0, 2}});
  placement const where(devices{2}, {{0, 1, 1}});
  schedule const s = one_after_another(fork, where, micro_batches{2}, costs(stage_cost{}));
  CHECK((check(s).ok() && peak_activations(s) == std::vector<int>{1, 1}));
}

}  // namespace

TEST_CASE("seeds of a graph: kFkB over it, on the first route, with split backwards") {
  stage_graph const sized = in_micro_batches(joined_branches(), {1, 2, 1, 4});
  placement const where(devices{2}, {{0, 1, 1, 0}, {1, 0, 0, 1}});
  std::vector<schedule> const seeds =
      graph_seeds(sized, where, micro_batches{8}, costs(stage_cost{}, 3));
  CHECK(seeds.size() == 5);  // one after another; turns of 1, 2, 4 units and of all
  for (schedule const& s : seeds) {
    CHECK(check(s).ok());
    CHECK(s.where == where);
    CHECK(s.route == std::vector<int>(8, 0));
    CHECK(s.cost == costs(stage_cost{}, 3));
    for (auto const& order : s.order)
      for (timed_pass const t : each_pass(order)) CHECK(t.what.kind != pass_kind::backward);
  }
  CHECK(graph_seeds(sized, where, micro_batches{4}, {}).size() == 4);  // all are four units
  // Longer turns hold more: with all in one turn, all that there is.
  auto const held = [](schedule const& s) { return peak_activations(s); };
  std::vector<schedule> const chained =
      graph_seeds(chain(stages{2}), linear(devices{2}), micro_batches{8}, costs(stage_cost{}));
  CHECK(held(chained[1]) == std::vector<int>{2, 1});
  CHECK(held(chained[2]) == std::vector<int>{4, 2});
  CHECK(held(chained.back()) == std::vector<int>{8, 8});
}
