#include <ashlar/study/compare.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/bounds/closed_forms.hpp>
#include <ashlar/catalog/searched_entries.hpp>

#include <string>

using namespace shapes;

namespace {

comparison compared(char const* name, int p, int m, costs const& cost = {}) {
  return compare(*catalog::find(name), {.p = devices{p}, .m = micro_batches{m}, .cost = cost});
}

TEST_CASE("transfers and weight copies") {
  CHECK(count_transfers(one_f_one_b(4, 8)) == 2 * 3 * 8);
  schedule forwards = one_f_one_b(4, 8);
  forwards.mode = execution_mode::inference;
  CHECK(count_transfers(forwards) == 3 * 8);
  CHECK(count_weight_copies(linear(devices{4})) == 1);
  CHECK(count_weight_copies(overlay(linear(devices{4}), mirror(linear(devices{4})))) == 2);
  // Where both routes put the middle stage on the same device, its weights are there once.
  CHECK(3 * count_weight_copies(overlay(linear(devices{3}), mirror(linear(devices{3})))) == 5);
}

// The bubble of 1F1B is (p - 1)(f + b + w), of ZB-H1 (p - 1)(f + b - w): gold closed forms.
TEST_CASE("the same model for stages of any size") {
  comparison const one = compared("1f1b", 4, 8, costs(stage_cost{2, 3, 1}));
  CHECK((one.makespan == (8 + 3) * 6 && one.stage_count == 4));
  CHECK(one.peaks == std::vector<double>{1, 0.75, 0.5, 0.25});
  CHECK(one.exposed_communication == 0);
  comparison const zero = compared("zb-h1", 4, 8, costs(stage_cost{2, 3, 1}));
  CHECK(zero.makespan == 8 * 6 + 3 * 4);
  // Micro-batches come in two parts: the first device holds p + 1 of them, where 1F1B holds p whole
  // ones.
  CHECK(compared("seq1f1b", 4, 8).peaks == std::vector<double>{0.625, 0.5, 0.375, 0.25});
  // A stage is half a p-th: V-Half does the same work, in stages of half the cost, with half the memory.
  comparison const half = compared("v-half", 4, 8);
  CHECK((half.stage_count == 8 && half.makespan >= 24 && half.makespan < 33));
  CHECK(half.peaks == std::vector<double>(4, 0.75));
}

// Your own schedule beside the catalog: the same order has the same numbers.
TEST_CASE("a schedule of one's own") {
  costs const cost(stage_cost{2, 3, 1}, 1);
  comparison const entry = compared("1f1b", 4, 8, cost);
  comparison const own = compare(one_f_one_b(4, 8), {.cost = cost, .piece_count = 4});
  CHECK((own.makespan == entry.makespan && own.span == entry.span && own.peaks == entry.peaks));
  CHECK((own.overhead == entry.overhead && own.transfers == entry.transfers));
  // Two devices: stages of half the model.
  CHECK(
      compare(one_f_one_b(2, 8), {.cost = cost, .piece_count = 4}).makespan
      == compare(one_f_one_b(2, 8), {.cost = costs(stage_cost{4, 6, 2}, 1), .piece_count = 2}).makespan);
}

// Two chunks on two devices, one micro-batch: the makespan is a first chunk and two second ones of
// either pass. Half of a forward and of an input pass is causal: of these the chunks take 3/8 and 5/8.
TEST_CASE("chunks of a sequence with causal attention") {
  catalog::entry const& chunked = *catalog::find("seq1f1b");
  catalog::shape shape{.p = devices{2}, .m = micro_batches{1}};
  divided_model model{.cost = costs(stage_cost{8, 8, 2}), .piece_count = 2};
  CHECK(compare(chunked, shape, model).makespan == 12 + 12 + 3);
  comparison const whole = compare(*catalog::find("1f1b"), shape, model);
  model.causal = {50, 50};
  comparison const c = compare(chunked, shape, model);
  CHECK(c.makespan == 13 + 13 + 3);
  CHECK(comparison_bound(c)->makespan <= c.makespan);
  // Your own order of the same passes gives the same, with any costs.
  schedule const own = catalog::seq1f1b(devices{2}, 2) | repeat(micro_batches{2}) | squeeze();
  CHECK((compare(own, model).makespan == c.makespan && compare(own, model).span == c.span));
  // Pieces that differ, and stages of several of them, have the same shares of each.
  model.cost = costs({{2, 2, 1}, {6, 6, 1}, {4, 4, 2}, {4, 4, 0}}, 3);
  CHECK(compare(chunked, shape, model).makespan == 13 + 13 + 3 + 2 * 3);
  // Whole sequences take what they took, also where micro-batches are halved.
  model.cost = costs(stage_cost{8, 8, 2});
  CHECK(compare(*catalog::find("1f1b"), shape, model).makespan == whole.makespan);
  catalog::entry const& halved = *catalog::find("chimera-backward-halving");
  shape.m = micro_batches{2};
  comparison const halves = compare(halved, shape, model);
  model.causal = {};
  CHECK(compare(halved, shape, model).makespan == halves.makespan);
}

// Chunks have costs of their own: as above, from a table. Whole sequences take the sums.
TEST_CASE("chunks of a sequence with costs of their own") {
  catalog::entry const& chunked = *catalog::find("seq1f1b");
  catalog::shape shape{.p = devices{2}, .m = micro_batches{1}};
  costs const cost(pass_costs::by_stage_and_sequence_chunk({{3, 3, 1}, {5, 5, 1}}, 2));
  CHECK(compare(chunked, shape, {.cost = cost, .piece_count = 2}).makespan == 13 + 13 + 3);
  CHECK(compare(*catalog::find("1f1b"), shape, {.cost = cost, .piece_count = 2}).makespan == 2 * 18);
  // Two stages have two pieces each, or two thirds of one.
  costs const each(pass_costs::by_stage_and_sequence_chunk(
      {{1, 1, 1}, {2, 2, 1}, {2, 2, 0}, {3, 3, 0}, {3, 3, 1}, {5, 5, 1}, {0, 0, 0}, {0, 0, 0}}, 2));
  comparison const pieces = compare(chunked, shape, {.cost = each});
  CHECK((pieces.makespan == 13 + 13 + 3 && pieces.unit == 1));
  shape.p = devices{3};
  comparison const thirds = compare(chunked, shape, {.cost = cost, .piece_count = 2});
  CHECK((thirds.unit == 3 && compare(chunked, shape, {.cost = cost, .piece_count = 3}).unit == 1));
}

TEST_CASE("costs of another number of chunks are refused") {
  catalog::shape const shape{.p = devices{2}, .m = micro_batches{1}};
  auto const broken = [&](char const* name, costs const& cost) {
    return violations::broken_by(
        [&] { compare(*catalog::find(name), shape, {.cost = cost, .piece_count = 2}); });
  };
  costs const cost(pass_costs::by_stage_and_sequence_chunk({{3, 3, 1}, {4, 4, 1}, {5, 5, 1}}, 3));
  CHECK(broken("seq1f1b", cost) == rule::tables_agree);
  CHECK(broken("1f1b", cost) == rule::none);
}

// Pieces of 1, 2 and 3 ticks: two stages take one and a half of them each.
TEST_CASE("pieces that differ") {
  costs const cost({{1, 1, 1}, {2, 2, 2}, {3, 3, 3}});
  comparison const c = compare(one_f_one_b(2, 1), {.cost = cost});
  CHECK((c.unit == 2 && c.makespan == 3 * 6));
  comparison const whole = compare(one_f_one_b(3, 1), {.cost = cost});
  CHECK((whole.unit == 1 && whole.makespan == 3 * 6));
  CHECK(compare(one_f_one_b(1, 4), {.cost = cost}).makespan == 4 * 18);
}

TEST_CASE("pieces of parts") {
  stage_parts const layer{
      .forward = {{part_resource::compute, 4}, {part_resource::exchange, 3}},
      .backward = {
          {part_resource::exchange, 3}, {part_resource::compute, 4}, {part_resource::compute, 2, true}}};
  part_costs const parts{.stages = {layer}};
  costs const cost(costs_of(parts));
  auto const task = [&](char const* name, int pieces, bool known = true) {
    return compare(*catalog::find(name), {.p = devices{2}, .m = micro_batches{4}},
                   {.cost = cost, .piece_count = pieces, .parts = known ? parts : part_costs{}});
  };
  // Each stage has a piece; or two of them, with what is between them; or half a piece.
  CHECK(task("dualpipe", 2).task.cost.passes.overlapped.of(0, pass_kind::backward, 0)
        == best_braid(layer.forward, layer.backward));
  stage_parts const two = repeated(layer, 2);
  CHECK(task("dualpipe", 4).task.cost.passes.overlapped.of(0, pass_kind::backward, 0)
        == best_braid(two.forward, two.backward));
  comparison const halves = task("dualpipev", 2);  // in four stages, counted in half ticks
  CHECK(halves.task.cost.passes.of(0) == stage_cost{7, 7, 2, 7});
  CHECK(halves.unit == 2);
  CHECK(halves.task.cost.passes.overlapped.of(0, pass_kind::backward, 0)
        == best_braid(layer.forward, layer.backward));
  CHECK(task("dualpipe", 2).makespan == task("dualpipe", 2, false).makespan);
  CHECK(task("dualpipe", 4).makespan <= task("dualpipe", 4, false).makespan);
  // Four forwards and backwards of a stage that exchanges first and last.
  CHECK(!task("1f1b", 2, false).makespan_of_parts);
  CHECK(task("1f1b", 2).makespan == 5 * 16);
  comparison const alone = compare(*catalog::find("gpipe"), {.p = devices{1}, .m = micro_batches{4}},
                                   {.cost = cost, .piece_count = 1, .parts = parts});
  CHECK(alone.makespan == 4 * 16);
  CHECK(alone.makespan_of_parts == 4 * 4 + 3 + 3 + 4 * 6);
  // In half ticks, and where chunks of sequences take different times there is none.
  CHECK(*halves.makespan_of_parts <= halves.makespan);
  CHECK(*halves.makespan_of_parts >= 4 * 10);
  auto const chunks = [&](causal_share causal) {
    return compare(*catalog::find("seq1f1b"),
                   {.p = devices{2}, .m = micro_batches{4}, .sequence_chunks = 2},
                   {.cost = cost, .piece_count = 2, .causal = causal, .parts = parts});
  };
  CHECK(chunks({}).makespan_of_parts.has_value());
  CHECK(!chunks({50, 50}).makespan_of_parts.has_value());
}

TEST_CASE("what is recomputed") {
  schedule const s = recompute(one_f_one_b(2, 4), {0, 1});
  comparison const c = compare(s, {.piece_count = 2, .kept_percent = 10});
  CHECK((c.peaks == std::vector<double>{0.55, 0.5} && c.overhead > c.bubble_rate));
  CHECK(compare(s, {.piece_count = 2}).peaks == std::vector<double>{1, 0.5});
}

// Bounds are in the same ticks, although the schedule's own are smaller: two stages a device.
TEST_CASE("bounds of what is compared") {
  comparison const half = compared("v-half", 4, 8, costs(stage_cost{10, 13, 7}, 1));
  std::optional<compared_bound> const b = comparison_bound(half);
  REQUIRE(b.has_value());
  // Six activations; a transfer is two of its ticks.
  CHECK(2 * b->span == v_shape_bound({devices{4}, micro_batches{8}, {10, 13, 7}, 2, 6}));
  CHECK(b->makespan <= half.makespan);
  comparison const one = compared("1f1b", 4, 8);
  CHECK(comparison_bound(one)->makespan == one.makespan);
  comparison const both = compared("chimera", 4, 8);
  CHECK(comparison_bound(both)->makespan >= 24);
  CHECK(comparison_bound(both)->makespan <= both.makespan);
}

TEST_CASE("what is no chain of pieces is not compared") {
  for (char const* name : {"vocab-1", "vocab-2", "interlaced"}) {
    catalog::shape const shape{devices{4}, micro_batches{8}};
    catalog::entry const& e = *catalog::find_any(name);
    CHECK_BREAKS(bound_is_for_a_chain, compare(e, shape));
    schedule const own = e.make(shape);
    CHECK_BREAKS(bound_is_for_a_chain, compare(own, {}));
  }
}

TEST_CASE("parts of joined pieces are counted before they are made, and checked") {
  divided_model model{.cost = stage_cost{2, 1, 1}, .piece_count = 65'536};
  model.parts.stages.push_back({{{.duration = 1}, {.duration = 1}}, {{.duration = 2}}});
  catalog::shape const shape{devices{2}, micro_batches{2}};
  CHECK_BREAKS(parameter_is_at_most, compare(*catalog::find("1f1b"), shape, model));
  model.piece_count = 2;
  model.parts.stages[0].forward[0].duration = -max_tick;
  CHECK_BREAKS(no_duration_is_negative, compare(*catalog::find("1f1b"), shape, model));
}

TEST_CASE("transfers that take time are exposed") {
  for (char const* name : {"gpipe", "1f1b"})
    for (int p : {2, 4, 8})
      for (tick latency : {0, 1, 3}) {
        int const m = 2 * p;
        auto const c = compared(name, p, m, costs(stage_cost{20, 20, 20}, latency));
        // dT/dL of the gold closed forms, for latencies small against passes.
        int const hops =
            std::string(name) == "gpipe" ? 2 * (p - 1) : 2 * (p - 1) + 2 * ((m - 1) * (p - 1) / p);
        CHECK(c.exposed_communication == hops * latency);
        CHECK(c.transfers == 2 * (p - 1) * m);
      }
}

}  // namespace
