#include "violations.hpp"
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/metrics.hpp>

using namespace ashlar;

namespace {

// A branch of two stages and one of one, and the stage where they meet.
constexpr stage_graph two_branches() { return stage_graph(stages{4}, {{0, 1}, {1, 3}, {2, 3}}); }

TEST_CASE("branches run at once") {
  costs const cost(stage_cost{1, 1, 1});
  schedule const graph =
      catalog::one_f_one_b(two_branches(), linear(devices{4}), micro_batches{6}, cost);
  schedule const line =
      catalog::one_f_one_b(chain(stages{4}), linear(devices{4}), micro_batches{6}, cost);
  CHECK((check(graph).ok() && check(line).ok()));
  CHECK((makespan(line) == 3 * 5 + 3 * 4 && makespan(graph) == 3 * 5 + 3 * 3));
  CHECK(peak_activations(graph) == std::vector<int>({3, 2, 2, 1}));
}

TEST_CASE("k forwards and k backwards in turn") {
  stage_graph const graph = in_micro_batches(chain(stages{2}), {1, 2});
  schedule const s = catalog::k_f_k_b(graph, linear(devices{2}), micro_batches{6}, {2, 1});
  CHECK(check(s).ok());
  std::vector<int> first;
  for (timed_pass const t : each_pass(s.order[0]))
    first.push_back(t.what.kind == pass_kind::forward ? t.what.micro_batch : -1 - t.what.micro_batch);
  CHECK(first == std::vector<int>({0, 1, 2, 3, -1, -2, 4, 5, -3, -4, -5, -6}));
  CHECK((s.order[1].size() == 6 && s.order[1][1].what == pass{pass_kind::backward, 1, 0}));
  CHECK(s.order[1][2].what == pass{pass_kind::forward, 1, 2});
}

TEST_CASE("stages on other devices keep their turns") {
  stage_graph const graph = two_branches();
  costs cost(stage_cost{1, 1, 1});
  cost.on.speeds = {100, 50};
  schedule const s =
      catalog::one_f_one_b(graph, placement(devices{2}, {{0, 0, 1, 1}}), micro_batches{4}, cost);
  CHECK(check(s).ok());
  CHECK(s.cost == cost);
  cost.on.speeds = {100, 50, 100, 100};
  schedule const turned =
      catalog::one_f_one_b(graph, placement(devices{4}, {{3, 2, 1, 0}}), micro_batches{4}, cost);
  CHECK(check(turned).ok());
  CHECK(peak_activations(turned) == std::vector<int>{1, 2, 2, 3});
}

TEST_CASE("stages, devices, sizes and micro-batches must agree") {
  auto const made = [](stage_graph const& graph, int devices_, int m) {
    return catalog::one_f_one_b(graph, linear(devices{devices_}), micro_batches{m});
  };
  CHECK_BREAKS(tables_agree, made(two_branches(), 3, 4));
  CHECK_BREAKS(counts_are_positive, made(two_branches(), 4, 0));
  CHECK_BREAKS(micro_batches_fill_blocks, made(in_micro_batches(chain(stages{2}), {1, 4}), 2, 6));
  CHECK_BREAKS(tables_agree,
               catalog::k_f_k_b(two_branches(), linear(devices{4}), micro_batches{2}, {1}));
}

}  // namespace
