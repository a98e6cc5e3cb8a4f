#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan/training/plan_space.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace ashlar;

namespace {

// Four layers on four devices.
plan_question spacious_question() {
  plan_question q;
  q.model = {.layers = 4, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 1, .sequence = 4};
  q.kinds[0].machine = {.flops = 1e6, .inside = 1e6, .between = 1e6, .memory = 1e5, .node_size = 2};
  q.kinds[0].count = 4;
  q.batch = 4;
  q.largest_micro_batch = 1;
  q.tensor = 2;
  return q;
}

TEST_CASE("training plans: plan space") {
  plan_question q = spacious_question();
  std::vector<catalog::entry const*> const both{catalog::find("1f1b"), catalog::find("depth-first")};
  // There are two data ranks, with parameters shared in four ways, or two stages in either schedule (of
  // 2 chunks: 4 would be too many for four layers); and three recomputations. The head is too small to
  // matter.
  CHECK(all_plans(q, both).size() == 3 * (4 + 2));
  for (training_plan const& p : all_plans(q, both)) {
    CHECK(p.device_count() == 4);
    CHECK(p.layout.micro_batch * p.micro_batches * p.layout.data == 4);
  }
  // Nothing is kept of scores, so there is no need to run them again.
  q.widths.scores = 0;
  CHECK(all_plans(q, both).size() == 2 * (4 + 2));
  // Sequences come in halves and quarters.
  CHECK(all_plans(q, {catalog::find("seq1f1b")}).size() == 2 * (4 + 2));
  // It also plans two devices: one pipeline rank.
  q.takes_fewer_devices = true;
  CHECK(all_plans(q, both).size() == 2 * (4 + 2) + 2);
  q.tensor = 4;  // more than a node
  CHECK(all_plans(q, both).empty());
}

TEST_CASE("training plans: micro batches of plans") {
  plan_question q = spacious_question();
  q.widths.scores = 0;
  q.levels = {sharding_level::none};
  std::vector<catalog::entry const*> const both{catalog::find("1f1b"), catalog::find("depth-first")};
  // Loops need as many micro-batches as there are devices.
  q.batch = 2;
  CHECK(all_plans(q, both).size() == 2 * (1 + 2));
  q.batch = 1;  // nor does it come out even for two data ranks
  CHECK(all_plans(q, both).size() == 2 * 1);
  // Two data ranks have three sequences each: one by one. A pipeline has six, or three times two.
  q.batch = 6;
  q.largest_micro_batch = 4;
  CHECK(all_plans(q, both).size() == 2 * (1 + 2 * 2));
  for (training_plan const& p : all_plans(q, both))
    CHECK(p.layout.micro_batch * p.micro_batches * p.layout.data == 6);
}

TEST_CASE("training plans: divided plans") {
  plan_question q = spacious_question();
  q.widths.scores = 0;
  q.model.vocabulary = 200;  // the head is about as much work as a layer
  std::vector<training_plan> const all = all_plans(q, {catalog::find("1f1b")});
  CHECK(all.size() == 2 * (4 + 2));
  int uneven = 0;
  for (training_plan const& p : all)
    if (p.layers == std::vector<int>{3, 1}) ++uneven;
  CHECK(uneven == 2);
  // Measured layers are only for the tensor ranks that they were measured on.
  q.lists = {{.tensor = 2, .layers = {{{1, 2}}, {{1, 2}}, {{1, 2}}, {{4, 8}}}}};
  int lists = 0;
  for (training_plan const& p : all_plans(q, {catalog::find("1f1b")}))
    if (p.layers == std::vector<int>{3, 1}) ++lists;
  CHECK(lists == 2);
  q.tensor = 1;
  CHECK(all_plans(q, {catalog::find("1f1b")}).empty());
}

TEST_CASE("training plans: plans of kinds") {
  plan_question q = spacious_question();
  q.widths.scores = 0;
  q.tensor = 1;
  q.levels = {sharding_level::none};
  q.kinds.push_back(q.kinds[0]);
  q.kinds[1].machine.flops = 0.5e6;
  q.kinds[0].count = q.kinds[1].count = 2;
  q.model.layers = 6;
  q.model.hidden = 800;  // links hardly matter
  q.model.feed_forward = 3200;
  std::size_t alone = 0, together = 0;
  bool is_balanced = false, is_shifted = false;
  for (training_plan const& p : all_plans(q, {catalog::find("1f1b")})) {
    if (p.layout.again != recomputation::none) continue;
    CHECK(p.device_count() == (p.kinds.size() == 2 ? 4 : 2));
    ++(p.kinds.size() == 2 ? together : alone);
    if (p.layout.pipeline == 2 && p.kinds == std::vector<int>{1, 0}) {
      is_balanced = is_balanced || p.layers == std::vector<int>{2, 4};
      is_shifted = is_shifted || p.layers == std::vector<int>{1, 5};
    }
  }
  CHECK((is_balanced && is_shifted));
  CHECK((alone == 2 * (1 + 1) && together > 2 * 2));
  // Layers are divided evenly: data ranks of both kinds, and pipelines of two and of four in both
  // orders.
  q.divides_evenly = true;
  CHECK(all_plans(q, {catalog::find("1f1b")}).size() == 2 * (alone + 1 + 2 * 2));
  q.kind = 1;
  for (training_plan const& p : all_plans(q, {catalog::find("1f1b")}))
    CHECK(p.kinds == std::vector<int>{1});
  // Tensor ranks are of one node, and of one kind.
  q.kind = -1;
  q.tensor = 2;
  q.kinds[1].machine.node_size = 1;
  for (training_plan const& p : all_plans(q, {catalog::find("1f1b")}))
    CHECK(p.kinds == std::vector<int>{0});
  // Four devices come out even for two tensor ranks, but three of one kind and one of another do not.
  q.kinds[1].machine.node_size = 2;
  q.kinds[0].count = 3;
  q.kinds[1].count = 1;
  CHECK(all_plans(q, {catalog::find("1f1b")}).empty());
  // It is not known on which kind measured layers were measured.
  q.tensor = 1;
  CHECK(!all_plans(q, {catalog::find("1f1b")}).empty());
  q.lists = {{.tensor = 1, .layers = std::vector<listed_layer>(6, {{1, 2}})}};
  CHECK(all_plans(q, {catalog::find("1f1b")}).empty());
}

}  // namespace
