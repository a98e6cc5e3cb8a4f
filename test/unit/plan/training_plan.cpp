#include <ashlar/plan/training_plan.hpp>
// First, so that it needs nothing before it.
#include "static_check.hpp"

#include <cstddef>

using namespace ashlar;

namespace {

constexpr catalog::entry const* planned_entry(std::string_view name) {
  for (catalog::entry const& e : catalog::entries)
    if (std::string_view(e.name) == name) return &e;
  return nullptr;
}

// Four layers on four devices; a second is 1e9 operations.
constexpr plan_question small_question() {
  plan_question q;
  q.model = {.layers = 4, .hidden = 8, .feed_forward = 32, .heads = 2, .vocabulary = 16, .sequence = 4};
  q.machine = {.flops = 1e6, .inside = 1e6, .between = 1e6, .memory = 1e5, .node_size = 2};
  q.device_count = 4;
  q.batch = 4;
  return q;
}

constexpr bool test_space() {
  plan_question q = small_question();
  q.largest_micro_batch = 1;
  q.tensor = 2;
  std::vector<catalog::entry const*> const both{planned_entry("1f1b"), planned_entry("depth-first")};
  // Two data ranks, with and without a shared optimizer, or two stages in either schedule (of 2 chunks:
  // 4 would be too many for four layers); three recomputations.
  HOLDS(all_plans(q, both).size() == 3 * (2 + 2));
  for (training_plan const& p : all_plans(q, both)) {
    HOLDS(p.layout.tensor * p.layout.data * p.layout.pipeline == 4);
    HOLDS(p.layout.micro_batch * p.micro_batches * p.layout.data == 4);
  }
  // Nothing is kept of scores: no need to run them again.
  q.widths.scores = 0;
  HOLDS(all_plans(q, both).size() == 2 * (2 + 2));
  q.tensor = 4;  // more than a node
  HOLDS(all_plans(q, both).empty());
  return true;
}
static_assert(test_space());

constexpr bool test_answer() {
  plan_question q = small_question();
  q.largest_micro_batch = 1;
  q.tensor = 1;
  q.widths.scores = 0;
  plan_answer const a = answer(q, {planned_entry("1f1b")}, 2, [](std::size_t, std::size_t) {});
  HOLDS(a.best.size() == 2 && a.rejected.empty());
  HOLDS(a.best[0].seconds <= a.best[1].seconds && a.best[0].bound <= a.best[0].seconds);
  // Without memory all are rejected, the smallest first.
  q.machine.memory = 1;
  plan_answer const none = answer(q, {planned_entry("1f1b")}, 2, [](std::size_t, std::size_t) {});
  HOLDS(none.best.empty() && none.rejected.size() > 1);
  HOLDS(none.rejected[0].bytes <= none.rejected[1].bytes && none.rejected[0].bytes > 1);
  return true;
}

}  // namespace

TEST_CASE("training plans: what there is to weigh, and what fits") {
  CHECK(test_space());
  CHECK(test_answer());
}
