#include <ashlar/search/portfolio.hpp>
// The header above comes first: it needs nothing before it.
#include "limits.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/search/search.hpp>

#include <algorithm>
#include <vector>

using namespace shapes;

namespace {

// It is not const where it is used: g++ 12 cannot construct members of const objects in constant
// expressions.
model_share on_four(tick transfer) {
  return {devices{4}, micro_batches{8}, costs({20, 26, 14}, transfer)};
}

TEST_CASE("layouts") {
  devices const p{4};
  CHECK((lay_out(placement_kind::linear, p, 1) == linear(p)
         && lay_out(placement_kind::v, p, 2) == v_shape(p)));
  CHECK(lay_out(placement_kind::looped, p, 3) == looped(p, chunks{3}));
  CHECK(lay_out(placement_kind::wave, p, 4) == wave(p, waves{2}));
}

TEST_CASE("the same model, cut finer") {
  model_share model = on_four(3);
  layout_choice const c = choose_layout(model, placement_kind::wave, 4, 75);
  CHECK((c.unit == 4 && c.chunk_count == 4 && c.problem.where == wave(devices{4}, waves{2})));
  // A quarter of the work a chunk, in ticks a quarter as long; a transfer takes as long as ever.
  CHECK(c.problem.cost == costs(stage_cost{20, 26, 14}, 12));
  CHECK(c.problem.limit == chunk_activations(12));  // three quarters of 4 micro-batches of 4 chunks
  CHECK(choose_layout(model, placement_kind::linear, 1, 100).problem.limit == chunk_activations(4));
  CHECK(choose_layout(model, placement_kind::linear, 1, 70).problem.limit
        == chunk_activations(2));  // whole ones
}

TEST_CASE("layouts that the memory leaves a schedule for") {
  model_share model = on_four(3);
  auto const shapes_for = [&](int percent) {
    std::vector<placement_kind> found;
    for (layout_choice const& c : layouts_for(model, percent)) found.push_back(c.shape);
    return found;
  };
  using enum placement_kind;
  CHECK(shapes_for(100) == std::vector<placement_kind>{linear, v, looped, looped, wave});
  CHECK(shapes_for(25) == std::vector<placement_kind>{linear, v, looped, looped, wave});
  CHECK(shapes_for(24).empty());  // less than one micro-batch
  // 30 % of 4 micro-batches is 1.2 of them.
  for (layout_choice const& c : layouts_for(model, 30, {{50}, 2}))
    CHECK(c.problem.limit.budget_of(0) == 30 * 4 * c.chunk_count * c.memory_unit / 100);
}

TEST_CASE("chunks that recompute, sequences in chunks") {
  model_share model = on_four(3);
  layout_choice const plain = choose_layout(model, placement_kind::v, 2, 50);
  CHECK(variants_of(plain, {}).size() == 1);
  std::vector<layout_choice> const all = variants_of(plain, {{10}, 5});
  CHECK(all.size() == 9);  // none, one or two chunks again; sequences in 1, 2 and 4
  CHECK((all[0].recomputed_chunks == 0 && all[0].problem.limit == chunk_activations(4)));
  CHECK((all[0].memory_unit == 1 && all[6].problem.limit == chunk_activations(16)
         && all[6].memory_unit == 4));
  layout_choice const c = all[4];
  CHECK((c.recomputed_chunks == 1 && c.sequence_chunks == 2 && c.problem.sequence_chunks == 2));
  CHECK((c.unit == 4 && c.problem.cost == costs(stage_cost{20, 26, 14}, 12)));
  CHECK((c.problem.limit.budget_of(0) == 800 && c.memory_unit == 200));  // 8 of 16 chunks of sequences
  for (int stage = 0; stage < 8; ++stage) {
    CHECK(c.problem.limit.memory.of(stage).recomputes() == (stage < 4));
    CHECK(c.problem.limit.memory.of(stage).taken_by(F) == (stage < 4 ? 10 : 100));
  }
}

TEST_CASE("sequences in chunks that differ") {
  model_share model = on_four(3);
  layout_choice const plain = choose_layout(model, placement_kind::v, 2, 50);
  std::vector<layout_choice> all =
      variants_of(plain, {.most_sequence_chunks = 4, .causal = {.forward = 50}});
  CHECK((all.size() == 3 && all[0].problem.cost == plain.problem.cost));
  for (layout_choice const& c : all) {
    CHECK((c.problem.cost.passes.sequence_chunks() == c.sequence_chunks && check(c.problem).ok()));
    tick forwards = 0;
    for (int chunk = 0; chunk < c.sequence_chunks; ++chunk)
      forwards += c.problem.cost.of({F, 3, chunk}, 0);
    CHECK(2 * forwards == 20 * c.unit);  // of a stage, which is a half of what a device holds
    CHECK(c.problem.cost.transfer(0, 1) == 3 * c.unit);
  }
  CHECK((all[1].unit == 2 * 2 * 4 && all[1].problem.cost.of({F, 0, 0}, 0) == 3 * 20));
  // These are the costs as they were measured.
  costs const by_sequence_chunk(
      pass_costs::by_stage_and_sequence_chunk({{6, 8, 5}, {6, 9, 5}, {8, 9, 4}}, 3), 5);
  all = variants_of(plain, {.most_sequence_chunks = 4, .by_sequence_chunk = by_sequence_chunk});
  CHECK((all.size() == 2 && all[0].sequence_chunks == 1 && all[1].sequence_chunks == 3));
  CHECK((all[1].unit == plain.unit && all[1].problem.cost.passes == by_sequence_chunk.passes));
  CHECK(all[1].problem.cost.transfer(0, 1) == plain.problem.cost.transfer(0, 1));
  CHECK((check(all[1].problem).ok() && all[1].problem.limit == chunk_activations(12)));
}

// The devices on a line have half of the memory: the first two hold more than that at the pace of 1F1B.
TEST_CASE("chunks that leave no room for 1F1B") {
  model_share model = on_four(3);
  variety how{.kept_percent = {10}};
  layout_choice plain = choose_layout(model, placement_kind::linear, 1, 50);
  CHECK(chunks_without_room(plain, 1, how) == std::vector<int>{0, 1});
  CHECK(chunks_without_room(plain, 2, how) == std::vector<int>{0});  // 5, 4, 3 and 2 halves
  plain.problem.limit = chunk_activations({4, 2, 1, 1});
  CHECK(chunks_without_room(plain, 1, how) == std::vector<int>{1, 2});
  plain.problem.limit = chunk_activations({1, 4, 4, 4});
  CHECK(chunks_without_room(plain, 1, how) == std::vector<int>{0});
  // All devices of a V hold as much: the first chunk of each, which is tried anyhow.
  layout_choice const v = choose_layout(model, placement_kind::v, 2, 50);
  CHECK(chunks_without_room(v, 1, {.kept_percent = {10}}) == first_chunks(v.problem.where, 1));
  // Device 3 then holds 3 checkpoints, the rest of one while it recomputes, and 2 whole ones.
  layout_choice less = v;
  less.problem.limit = chunk_activations(3);
  CHECK(chunks_without_room(less, 1, {.kept_percent = {10}}) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(sets_for(less, 1, {.kept_percent = {10}}).size() == 4);
  CHECK((sets_for(v, 1, {.kept_percent = {10}}).size() == 3 && sets_for(v, 1, {}).size() == 1));
}

TEST_CASE("sets of stages that recompute, as asked for") {
  model_share model = on_four(3);
  layout_choice const plain = choose_layout(model, placement_kind::v, 2, 50);
  variety how{.kept_percent = {10, 20, 30, 40, 50, 60, 70, 80}, .recomputed = {{0, 2, 5}, {}}};
  std::vector<layout_choice> const all = variants_of(plain, how);
  CHECK((all.size() == 2 && all[1].recomputed_chunks == 0 && all[1].memory_unit == 1));
  layout_choice const c = all[0];
  CHECK((c.recomputed_chunks == layout_choice::other_stages && c.memory_unit == 100));
  CHECK(recomputed_stages(c.problem) == std::vector<int>{0, 2, 5});
  CHECK(c.problem.limit.memory.of(0).taken_by(F) == 10);
  CHECK(c.problem.limit.memory.of(2).taken_by(F) == 30);
  CHECK(c.problem.limit.memory.of(5).taken_by(F) == 60);
  CHECK(c.problem.limit.memory.of(7).taken_by(F) == 100);
}

TEST_CASE("variants: stages and shares that there are not") {
  model_share model = on_four(3);
  layout_choice const plain = choose_layout(model, placement_kind::v, 2, 50);
  CHECK_BREAKS(every_pass_is_known, variants_of(plain, {.kept_percent = {10}, .recomputed = {{8}}}));
  CHECK_BREAKS(tables_agree, variants_of(plain, {.kept_percent = {10, 20}}));
  CHECK_BREAKS(tables_agree, chunks_without_room(plain, 1, {.kept_percent = {10, 20}}));
}

TEST_CASE("variants of a limit in bytes") {
  layout_choice plain{.shape = placement_kind::linear,
                      .problem = {.where = linear(devices{2}),
                                  .m = micro_batches{3},
                                  .cost = {},
                                  .limit = limits::sized({50, 60}, {7, 9}, {3, 4})}};
  memory_limit const again = vary(plain, {0, 1}, 1, {{50}}).problem.limit;
  CHECK(again.budget == std::vector<byte_count>{5000, 6000});
  constexpr auto mode = execution_mode::training;
  CHECK((again.memory.of(0).taken_by(F) == 350 && again.memory.of(1).taken_by(R) == 450));
  CHECK((again.memory.of(0).given_back_by(I, mode) == 700 - 300
         && again.memory.of(1).given_back_by(W, mode) == 400));
  memory_limit const cut = vary(plain, {}, 4, {{50}}).problem.limit;
  CHECK((cut.budget == std::vector<byte_count>{200, 240} && cut.memory.of(1).taken_by(F) == 9));
  CHECK(first_chunks(wave(devices{2}, waves{2}), 3) == std::vector<int>{0, 1, 2, 3, 4, 5});
  CHECK(first_chunks(placement(devices{3}, {{0, 0, 2, 0}}), 2) == std::vector<int>{0, 1, 2});
}

// A fifth of 1F1B's memory is less than one micro-batch on 4 devices: enough where all recompute, or
// for none.
TEST_CASE("recomputing fits where keeping does not") {
  model_share model = on_four(1);
  CHECK(layouts_for(model, 20).empty());
  std::vector<layout_choice> const all = layouts_for(model, 20, {.kept_percent = {5}});
  CHECK(!all.empty());
  for (layout_choice const& c : all) {
    CHECK(c.recomputed_chunks > 0);
    search_result const r = search(c.problem, {.passes = 60'000, .aim = objective::span});
    CHECK(check(r.best).ok());
    CHECK(is_within(r.best, c.problem.limit));
    CHECK(busy(r.best)[0] == 8 * (60 * c.unit + 20 * c.recomputed_chunks * c.unit / c.chunk_count));
  }
}

// The work of a device is the same in all of them, in units of the model.
TEST_CASE("layouts compare in the model's ticks") {
  model_share model = on_four(1);
  for (int percent : {50, 100})
    for (layout_choice const& c : layouts_for(model, percent)) {
      search_result const r = search(c.problem, {.passes = 60'000, .aim = objective::span});
      CHECK(check(r.best).ok());
      std::vector<tick> const work = busy(r.best);
      for (tick w : work) CHECK(w == 8 * 60 * c.unit);
      CHECK(r.reached >= 8 * 60 * c.unit);
      CHECK(is_within(r.best, c.problem.limit));
    }
}

}  // namespace
