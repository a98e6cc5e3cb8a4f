// Experts in the model's blocks: balanced over any scope, devices find the bits of the sequential run,
// and scopes differ as they should.
#include "gpt/batch_values.hpp"
#include "gpt/worker.hpp"
#include "support.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/values/balance.hpp>
#include <ashlar/values/clip.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace {

using ashlar::balance_scope;
using balanced = gpt::worker<double>;

gpt::config with_experts(int stages, int micro_batches, int ranks) {
  gpt::config shape = gpt_test::tiny(stages);
  shape.micro_batches = micro_batches;
  shape.data_ranks = ranks;
  shape.experts = 4;
  shape.balance = 1;
  return shape;
}

// Two blocks on the first two of three stages. No scope: each micro-batch's own counts.
ashlar::program balanced_program(char const* name, int ranks, std::optional<balance_scope> scope,
                                 bool clipped = false) {
  ashlar::schedule s = ashlar::catalog::find(name)->make({ashlar::devices{2}, ashlar::micro_batches{4}});
  std::vector<int> stages;
  for (int i = 0; i < s.stage_count(); ++i)
    if (gpt::shape_of(with_experts(s.stage_count(), 4, 1), i).blocks > 0) stages.push_back(i);
  if (scope) s = balance_experts(s, stages, *scope);
  if (clipped) s = clip_micro_batches(s);
  return lower(s, {.data_ranks = ranks});
}

struct expert_ranks {
  std::vector<std::unique_ptr<balanced>> all;
  std::vector<balanced*> list;

  explicit expert_ranks(ashlar::program const& p) {
    gpt::config const shape = with_experts(p.stage_count(), p.micro_batch_count(), p.data_ranks);
    for (int rank = 0; rank < p.data_ranks; ++rank) {
      all.push_back(
          std::make_unique<balanced>(shape, 3, gpt::site_in(p, rank), gpt::values_work{p.work}));
      list.push_back(all.back().get());
    }
  }
  void set_batch(std::uint64_t step) const {
    std::uint64_t next = step * all.size();
    for (balanced* w : list) w->set_batch(gpt_test::batch_for(w->shape(), next++));
  }
};

// The gradient of the first block after one step on devices.
std::vector<double> gradient_of(ashlar::program const& p) {
  expert_ranks const found(p);
  found.set_batch(0);
  ashlar::host::runtime(p, found.list).run();
  return {found.list[0]->gradient(0).begin(), found.list[0]->gradient(0).end()};
}

}  // namespace

TEST_CASE("experts: training with counts of any scope gives the bits of the sequential run") {
  struct example {
    char const* name;
    std::optional<balance_scope> scope;
    bool clipped = false;
  };
  for (example const& e :
       {example{"1f1b", {}}, example{"1f1b", balance_scope::synchronised},
        example{"zb-h1", balance_scope::running}, example{"v-half", balance_scope::running},
        example{"gpipe", balance_scope::global}, example{"1f1b", balance_scope::running, true}})
    for (int ranks : {1, 2}) {
      CAPTURE(e.name);
      CAPTURE(ranks);
      ashlar::program const p = balanced_program(e.name, ranks, e.scope, e.clipped);
      expert_ranks const found(p), expected(p);
      ashlar::host::runtime runtime(p, found.list);
      ashlar::sequential reference(p, expected.list);
      for (std::uint64_t step = 0; step < 3; ++step) {
        found.set_batch(step);
        expected.set_batch(step);
        runtime.run();
        reference.run();
        gpt::update(found.list, {});
        gpt::update(expected.list, {});
      }
      for (std::size_t rank = 0; rank < found.list.size(); ++rank) {
        balanced const &a = *found.list[rank], &b = *expected.list[rank];
        CHECK(std::ranges::equal(a.balance_losses(), b.balance_losses()));
        CHECK(std::ranges::equal(a.expert_loads(), b.expert_loads()));
        for (int stage = 0; stage < p.stage_count(); ++stage)
          CHECK(std::ranges::equal(a.weights(stage), b.weights(stage)));
      }
    }
}

TEST_CASE("experts: scopes are the same where they count the same tokens, and nowhere else") {
  auto const on = [](char const* name, int ranks, std::optional<balance_scope> scope) {
    return gradient_of(balanced_program(name, ranks, scope));
  };
  CHECK(on("1f1b", 1, balance_scope::synchronised) == on("1f1b", 1, {}));
  CHECK(on("1f1b", 2, balance_scope::synchronised) != on("1f1b", 2, {}));
  // If all forwards come first, the whole batch is known.
  for (int ranks : {1, 2}) {
    CHECK(on("gpipe", ranks, balance_scope::global) == on("gpipe", ranks, balance_scope::running));
    CHECK(on("gpipe", ranks, balance_scope::global) != on("gpipe", ranks, balance_scope::synchronised));
    CHECK(on("1f1b", ranks, balance_scope::running) != on("gpipe", ranks, balance_scope::running));
  }
}

TEST_CASE("experts: every token goes to as many as it should, and a loss of 1 is even") {
  ashlar::program const p = balanced_program("1f1b", 1, {});
  expert_ranks const found(p);
  found.set_batch(0);
  ashlar::host::runtime(p, found.list).run();
  balanced const& w = *found.list[0];
  gpt::config const& shape = w.shape();
  double routed = 0;
  for (double load : w.expert_loads()) routed += load;
  CHECK(routed == shape.tokens() * shape.chosen * shape.blocks);
  CHECK(w.expert_loads().size() == static_cast<std::size_t>(4 * shape.blocks * shape.experts));
  for (double loss : w.balance_losses()) {
    CHECK(loss > 0.5);
    CHECK(loss < 2);
  }
}

TEST_CASE("experts: more of them than there may be are refused") {
  gpt::config shape = gpt_test::tiny(1);
  shape.experts = 1;
  CHECK_THROWS_AS(gpt::worker<double>(shape, 3), std::invalid_argument);
  shape.chosen = 1;
  CHECK_NOTHROW(gpt::worker<double>(shape, 3));
  shape.experts = gpt::config::most_experts + 1;
  CHECK_THROWS_AS(gpt::worker<double>(shape, 3), std::invalid_argument);
}
