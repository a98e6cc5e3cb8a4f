#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan/training/plan_sites.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <vector>

using namespace ashlar;

namespace {

// Four fast devices on two nodes, two slow ones on one.
plan_question question_of_kinds() {
  plan_question q;
  q.model = {.layers = 6, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 1, .sequence = 4};
  q.kinds.resize(2);
  q.kinds[0] = {{.flops = 4, .inside = 10, .between = 6, .memory = 100, .node_size = 2}, {}, 4};
  q.kinds[1] = {{.flops = 1, .inside = 8, .between = 5, .memory = 40, .node_size = 2}, {}, 2};
  q.margin = 0.5;
  return q;
}

training_plan plan_of_kinds(int data, int pipeline, std::vector<int> const& kinds) {
  training_plan plan;
  plan.layout = {.pipeline = pipeline, .data = data};
  plan.entry = catalog::find("1f1b");
  plan.kinds = kinds;
  return plan;
}

TEST_CASE("plan sites: members") {
  plan_question const q = question_of_kinds();
  training_plan const pairs = plan_of_kinds(2, 3, {0, 1}), turned = plan_of_kinds(2, 3, {1, 0}),
                      mixed = plan_of_kinds(3, 2, {0, 1});
  CHECK((used_of(q, pairs, 0) == 4 && used_of(q, pairs, 1) == 2));
  CHECK(kinds_of_device(q, pairs, 0) == std::vector<int>{0});
  CHECK(kinds_of_device(q, pairs, 1) == std::vector<int>{0});
  CHECK(kinds_of_device(q, pairs, 2) == std::vector<int>{1});
  CHECK(kinds_of_device(q, turned, 0) == std::vector<int>{1});
  CHECK(kinds_of_device(q, turned, 1) == std::vector<int>{0});
  // Three ranks: one fast and two slow ones are as fast as the slow, and hold as much.
  CHECK(kinds_of_device(q, mixed, 0) == std::vector<int>{0});
  CHECK(kinds_of_device(q, mixed, 1) == std::vector<int>{0, 1});
  CHECK(budgets_of(q, mixed) == std::vector<double>{50, 20});
  CHECK(device_of_pipeline(q, mixed, 1).machine.flops == 1);
  CHECK(device_of_pipeline(q, plan_of_kinds(3, 2, {1, 0}), 0).machine.flops == 1);
  CHECK((mean_flops(q, mixed) == 3 && mean_flops(q, plan_of_kinds(1, 2, {1})) == 1));
  // Half of each kind.
  training_plan const half = plan_of_kinds(1, 3, {0, 1});
  CHECK((used_of(q, half, 0) == 2 && used_of(q, half, 1) == 1));
  CHECK(kinds_of_device(q, half, 1) == std::vector<int>{0});
  CHECK(kinds_of_device(q, half, 2) == std::vector<int>{1});
}

TEST_CASE("plan sites: links of sites") {
  plan_question q = question_of_kinds();
  training_plan const pairs = plan_of_kinds(2, 3, {0, 1});
  // A link within a kind is its network; between two kinds it is the slower one's, or what there is.
  CHECK((link_between(q, pairs, 0, 1) == 6 && link_between(q, pairs, 1, 2) == 5));
  CHECK((sites_of(q, pairs)[0].next == 6 && sites_of(q, pairs)[1].next == 5));
  CHECK((sites_of(q, pairs)[1].link == 6 && sites_of(q, pairs)[2].link == 5));
  CHECK((sites_of(q, pairs)[1].machine.flops == 4 && sites_of(q, pairs)[2].machine.flops == 1));
  q.between_kinds = 2;
  CHECK((sites_of(q, pairs)[0].next == 6 && sites_of(q, pairs)[1].next == 2));
  CHECK(sites_of(q, pairs)[2].link == 5);
  q.between_kinds = 7;  // no faster than the slower kind's network
  CHECK(link_between(q, pairs, 1, 2) == 5);
  q.between_kinds = 2;
  // Data ranks of two kinds sum over the link between them.
  CHECK(sites_of(q, plan_of_kinds(3, 2, {0, 1}))[1].link == 2);
  // One kind on one node does not leave it.
  CHECK(sites_of(q, plan_of_kinds(1, 2, {1}))[0].next == 8);
}

}  // namespace
