// Values that nobody should make, written by hand: each public function refuses them by the rule that
// they break. extreme_doors.cpp has random ones.
#include "predicted_runs.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/block/algebra.hpp>
#include <ashlar/block/measures.hpp>
#include <ashlar/catalog/graphs.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/cost/step/calibrate.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/model/operator_partition.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/plan/graphs/graph_plan.hpp>
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/parts/divide.hpp>
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/plan/parts/partition.hpp>
#include <ashlar/plan/serving/plan_serving.hpp>
#include <ashlar/prove/window.hpp>
#include <ashlar/render/chrome_trace.hpp>
#include <ashlar/render/svg.hpp>
#include <ashlar/render/text.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/turns.hpp>
#include <ashlar/search/layouts.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/simulate/slack.hpp>
#include <ashlar/study/compare.hpp>
#include <ashlar/study/timeline_difference.hpp>
#include <ashlar/study/tradeoff.hpp>
#include <ashlar/values/coverage.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace shapes;

namespace {

constexpr int int_max = std::numeric_limits<int>::max(), int_min = std::numeric_limits<int>::min();
constexpr tick tick_max = std::numeric_limits<tick>::max(), tick_min = std::numeric_limits<tick>::min();

TEST_CASE("hostile schedules: tables that do not go together, and times out of range") {
  auto const hostile = [](auto change, rule broken) {
    schedule s = one_f_one_b(2, 2);
    change(s);
    auto const is_refused = [&](auto call) { CHECK(violations::broken_by(call) == broken); };
    is_refused([&] { squeeze(s); });
    is_refused([&] { reorder(s, reordering::throughout); });
    is_refused([&] { text(s); });
    is_refused([&] { svg(s); });
    is_refused([&] { chrome_trace(s); });
    is_refused([&] { lower(s); });
    is_refused([&] { compare(s, divided_model{}); });
    is_refused([&] { coverage(s, stage_id{0}); });
    is_refused([&] { fill(s, work_graph{}); });
  };
  hostile([](schedule& s) { s.order.pop_back(); }, rule::tables_agree);
  hostile([](schedule& s) { s.cost.passes = pass_costs(std::vector<stage_cost>(5)); },
          rule::tables_agree);
  hostile([](schedule& s) { s.cost.on.speeds = {100, 0}; }, rule::parameter_is_at_least);
  hostile([](schedule& s) { s.cost.on.links.inside.bandwidth = -1; }, rule::no_duration_is_negative);
  hostile([](schedule& s) { s.graph = chain(stages{3}); }, rule::tables_agree);
  hostile([](schedule& s) { s.route[1] = 7; }, rule::micro_batches_take_a_route);
  hostile([](schedule& s) { s.order[0][0].what.micro_batch = int_max; }, rule::every_pass_is_known);
  hostile([](schedule& s) { s.order[0][0].what.stage = int_min; }, rule::every_pass_is_known);
  schedule const s = one_f_one_b(2, 2);
  CHECK_BREAKS(parameter_is_at_least, retime(s, costs(pass_costs(), {.speeds = {-5, 100}})));
  CHECK_BREAKS(no_duration_is_negative, retime(s, costs(stage_cost{}, -3)));
  CHECK_BREAKS(ticks_fit, shift(s, tick_max));
  CHECK_BREAKS(ticks_fit, shift(s, tick_min));
  CHECK_BREAKS(tables_agree, improve({s}, {.memory = {}, .budget = {1, 2, 3}}, {.passes = 10}));
  CHECK_BREAKS(every_pass_is_known, coverage(s, stage_id{2}));
  CHECK_BREAKS(every_pass_is_known, coverage(s, stage_id{0}, micro_batch_id{-1}));
  CHECK_BREAKS(ticks_fit, coverage(s, stage_id{0}, tick_max));
}

TEST_CASE("hostile schedules: metrics look up nothing that is not there") {
  auto const hostile = [](auto change, rule broken) {
    schedule s = one_f_one_b(2, 2);
    change(s);
    auto const is_refused = [&](auto call) { CHECK(violations::broken_by(call) == broken); };
    is_refused([&] { makespan(s); });
    is_refused([&] { span(s); });
    is_refused([&] { busy(s); });
    is_refused([&] { bubble_rate(s); });
    is_refused([&] { overhead_within(s, 1); });
    is_refused([&] { peak_memory(s, {}); });
  };
  hostile(
      [](schedule& s) {
        s.cost.passes = pass_costs(std::vector<stage_cost>(1, {1, tick_max, 1}));
      },
      rule::ticks_fit);
  hostile([](schedule& s) { s.cost.passes = pass_costs(std::vector<stage_cost>(3)); },
          rule::tables_agree);
  hostile([](schedule& s) { s.order[0].back().what.micro_batch = int_max; }, rule::every_pass_is_known);
  hostile([](schedule& s) { s.order[0].back().what.stage = int_min; }, rule::every_pass_is_known);
  hostile([](schedule& s) { s.order[1].front().start = s.order[1].back().start = tick_max; },
          rule::ticks_fit);
  schedule s = one_f_one_b(2, 2);
  CHECK_BREAKS(tables_agree, peak_memory(s, {.stages = std::vector<stage_memory>(3)}));
  CHECK_BREAKS(sizes_fit, peak_memory(s, {.stages = {{.stash = -1}}}));
  s.order[0][0].what = {pass_kind::recompute, 1'000'000, 0};
  CHECK_BREAKS(every_pass_is_known, recomputed_stages(s));
  CHECK_BREAKS(every_pass_is_known, relocate(s, linear(devices{2})));
  CHECK(take_turns(s, [](std::size_t, std::size_t) {}).broken == rule::every_pass_is_known);
  CHECK(makespan(schedule{}) == 0);
}

TEST_CASE(
    "hostile blocks: lifespans of what is not there, and more activations than there are numbers") {
  block b = catalog::one_f_one_b(devices{2});
  b.route[0] = 7;
  CHECK_BREAKS(micro_batches_take_a_route, lifespan(b, stage_id{0}));
  CHECK_BREAKS(micro_batches_take_a_route, activation_bound(b, device_id{0}));
  CHECK_BREAKS(micro_batches_take_a_route, repeated_peak(b, device_id{0}));
  CHECK_BREAKS(micro_batches_take_a_route, overlay(b, catalog::one_f_one_b(devices{2})));
  b.route[0] = int_max;
  CHECK_BREAKS(micro_batches_take_a_route, overlay(catalog::one_f_one_b(devices{2}), b));
  block far = catalog::one_f_one_b(devices{2}) | with_interval(1);
  far.cells.back().offset = max_tick - 1;
  for (cell& c : far.cells)
    if (c.what.kind != pass_kind::forward) c.offset = max_tick - 1;
  CHECK_BREAKS(ticks_fit, activation_bound(far, device_id{0}));
  CHECK_BREAKS(ticks_fit, repeated_peak(far, device_id{0}));
  CHECK_BREAKS(counts_are_positive, most_held(1, 0));
  CHECK(most_held(tick_max, 1) == tick_max);
}

TEST_CASE("hostile models: stages, chunks and times that are none") {
  stage_graph const two = chain(stages{2});
  for (int const stage : {int_max, int_min, 2}) {
    CHECK(check_partition(two, {0, stage}).broken == rule::tables_agree);
    CHECK_BREAKS(tables_agree, partitioned(two, {0, stage}));
    CHECK_BREAKS(tables_agree, find_returning_path(two, {0, stage}));
    CHECK_BREAKS(stage_edges_ascend, ascending_numbers(2, {{0, stage}}));
    CHECK_BREAKS(stage_edges_ascend, ascending_numbers(2, {{stage, 0}}));
  }
  CHECK_BREAKS(tables_agree, find_returning_path(two, {0}));
  CHECK_BREAKS(parameter_is_at_most, ascending_numbers(int_max, {}));
  CHECK_BREAKS(counts_are_positive, ascending_numbers(int_min, {}));
  placement const where = linear(devices{2});
  for (int const q : {0, int_min}) {
    CHECK_BREAKS(counts_are_positive, smallest_budget(where, {}, 0, q));
    CHECK(check(memory_limit{.budget = {1}}, where, 2, q).broken == rule::counts_are_positive);
  }
  CHECK_BREAKS(tables_agree, smallest_budget(where, {.stages = std::vector<stage_memory>(3)}, 0));
  CHECK(smallest_budget(where, {.stages = {{.stash = 3}}}, 0, int_max) == tick{3} * int_max);
  for (stage_cost const& c : {stage_cost{.forward = tick_min}, stage_cost{.backward_input = -1},
                              stage_cost{.recompute = tick_min}})
    CHECK_BREAKS(no_duration_is_negative, with_causal_chunks(costs(c), 4, {30, 40}));
  CHECK_BREAKS(parameter_is_at_most, costs_of({std::vector<stage_parts>(1 << 16)}));
}

TEST_CASE("hostile sizes: products that are none") {
  CHECK_BREAKS(parameter_is_at_most, looped(devices{70'000}, chunks{70'000}));
  CHECK_BREAKS(parameter_is_at_most, unroll(catalog::one_f_one_b(devices{2}), int_max));
  CHECK_BREAKS(ticks_fit, shift(catalog::one_f_one_b(devices{2}), tick_max));
  costs cost(stage_cost{}, 3);
  CHECK_BREAKS(ticks_fit, stretch_transfers(cost.on, tick_max));
  CHECK(catalog::find("hanayo")->check({.p = devices{int_min}, .m = micro_batches{1}}).broken
        == rule::parameter_is_at_least);
  CHECK_BREAKS(parameter_is_at_most, placement(devices{int_max}, {{0}}));
  CHECK_BREAKS(parameter_is_at_most, make_placement(devices{1}, stages{int_max}, [](int) { return 0; }));
}

TEST_CASE("hostile shapes: what there is no memory for is refused before it is made") {
  devices const p{2};
  micro_batches const m{2}, most{int_max};
  for (catalog::entry const* const e : catalog::all_entries) {
    CAPTURE(e->name);
    CHECK_BREAKS(parameter_is_at_most, e->make({p, most}));
    CHECK_BREAKS(parameter_is_at_most, e->make({devices{int_max}, m}));
    CHECK_BREAKS(parameter_is_at_most, e->make({devices{most_stages}, micro_batches{most_stages}}));
    // Each of the other numbers that it looks at is tried.
    for (catalog::shape const& s : {catalog::shape{.p = p, .m = m, .v = chunks{int_max}},
                                    {.p = p, .m = m, .w = waves{int_max}},
                                    {.p = p, .m = m, .sequence_chunks = int_max}})
      if ((s.v.value == int_max && e->uses(parameter::chunk_count))
          || (s.w.value == int_max && e->uses(parameter::wave_count))
          || (s.sequence_chunks == int_max && e->uses(parameter::sequence_chunk_count)))
        CHECK_BREAKS(parameter_is_at_most, e->make(s));
  }
  CHECK_BREAKS(parameter_is_at_most, catalog::grouped_interleaved(p, most, chunks{2}, 2));
  CHECK_BREAKS(parameter_is_at_most, catalog::dualpipev(p, most));
  CHECK_BREAKS(parameter_is_at_most, catalog::stp(p, most));
  CHECK_BREAKS(parameter_is_at_most, catalog::gems(p, most));
  CHECK_BREAKS(parameter_is_at_most, catalog::depth_first(p, chunks{2}, int_max));
  CHECK_BREAKS(parameter_is_at_most, catalog::chimera_forward_doubling(devices{most_stages}));
  CHECK_BREAKS(parameter_is_at_most, catalog::one_f_one_b(chain(stages{2}), linear(p), most));
  CHECK_BREAKS(parameter_is_at_most,
               search({.where = linear(p), .m = most, .cost = {}, .limit = {}}, {.passes = 10}));
}

TEST_CASE("hostile shapes: functions of schedules ask for what their entries ask for") {
  devices const p{2};
  CHECK_BREAKS(parameter_is_at_least, catalog::dualpipe(p, micro_batches{2}));
  CHECK_BREAKS(parameter_is_a_multiple, catalog::dualpipe(devices{3}, micro_batches{8}));
  CHECK_BREAKS(parameter_is_at_least, catalog::chimera(p, 0));
  CHECK_BREAKS(parameter_is_a_multiple, catalog::bitpipe(devices{3}, catalog::unit_junction::code));
  CHECK_BREAKS(parameter_is_at_least, catalog::breadth_first(p, chunks{2}, micro_batches{2}, 0));
  CHECK_BREAKS(parameter_is_at_least, catalog::seq1f1b(p, -1));
  CHECK_BREAKS(parameter_is_at_least, catalog::depth_first(p, chunks{int_min}, 2));
  CHECK(catalog::grouped_interleaved(p, micro_batches{2}, chunks{2}, 0)
        == catalog::grouped_interleaved(p, micro_batches{2}, chunks{2}, 2));
  CHECK(catalog::group_of({.p = devices{0}, .m = micro_batches{2}}) == 0);
  CHECK(catalog::common_tick(costs(stage_cost{tick_min, -1, 2})) == 1);
  CHECK_BREAKS(counts_are_positive, catalog::in_units(costs{}, 0));
  CHECK_BREAKS(parameter_is_at_least,
               catalog::one_f_one_b(chain(stages{2}), placement(p, {{1, 0}}), micro_batches{2},
                                    costs(pass_costs(), {.speeds = {100, 0}})));
  CHECK_BREAKS(ticks_fit,
               catalog::zero_bubble({p, micro_batches{2}, costs(stage_cost{tick_max, 1, 1})}, 2));
}

TEST_CASE("hostile timelines, and programs beside them") {
  schedule const s = one_f_one_b(2, 2);
  program const p = lower(s);
  simulation_options const o;
  timeline const line = time_program(p, o);
  CHECK(usage_of(p, line) == simulate(p, o).usage);
  CHECK(critical_path(line) == simulate(p, o).critical);
  CHECK(memory_over_time(p, line, o) == simulate(p, o).memory);
  timeline other = line;
  other.timed.pop_back();
  CHECK_BREAKS(tables_agree, usage_of(p, other));
  CHECK_BREAKS(tables_agree, memory_over_time(p, other, o));
  other = line;
  other.timed[0].cause = int_max;
  CHECK_BREAKS(tables_agree, critical_path(other));
  other.timed[0].cause = -1;
  other.makespan = tick_max;
  CHECK_BREAKS(ticks_fit, critical_path(other));
  // This one is its own cause, for ever.
  other = {.timed = {{.start = 0, .end = 1, .cause = 0}}, .makespan = 1};
  CHECK(critical_path(other) == std::vector<path_step>{{0, 0, 1}});
  program torn = p;
  torn.stream_begin[1] = int_max;
  CHECK_BREAKS(tables_agree, usage_of(torn, line));
  CHECK_BREAKS(tables_agree, link_slacks(torn, o));
  CHECK(check_window(torn, 2).broken == rule::tables_agree);
  for (int const window : {0, int_min})
    CHECK(check_window(p, window).broken == rule::counts_are_positive);
  CHECK(check_window(p, int_max).ok());
  CHECK_BREAKS(tables_agree, program_bound(s, torn, o));
}

TEST_CASE("hostile fillings: a device that there is not, and steps that are none") {
  filling f = fill_steps(one_f_one_b(2, 2), curvature());
  CHECK_BREAKS(every_pass_is_known, utilisation(f, 2));
  CHECK_BREAKS(every_pass_is_known, utilisation(f, -1));
  f.steps = {1};
  CHECK_BREAKS(tables_agree, utilisation(f, 0));
  f.steps = {int_max, 1};
  f.step = tick_max;
  CHECK_BREAKS(ticks_fit, utilisation(f, 0));
}

TEST_CASE("hostile studies: no schedule, counts that divide by nothing, and passes of no timeline") {
  schedule const s = one_f_one_b(2, 4);
  catalog::entry const* const entry = catalog::find("1f1b");
  layered_model model;
  pipeline_choice choice{.entry = entry, .p = devices{2}, .m = micro_batches{4}};
  CHECK(step_time(model, choice) >= *least_step_time(model, choice));
  choice.entry = nullptr;
  CHECK_BREAKS(every_pass_is_present, step_time(model, choice));
  choice.own = &s;
  choice.m = micro_batches{0};
  CHECK_BREAKS(counts_are_positive, step_time(model, choice));
  choice.m = micro_batches{3};
  CHECK_BREAKS(tables_agree, step_time(model, choice));
  choice.m = micro_batches{4};
  model.backward = tick_min;
  CHECK_BREAKS(no_duration_is_negative, utilisation(model, choice));
  model.backward = tick_max;
  CHECK_BREAKS(ticks_fit, utilisation(model, choice));
  CHECK_BREAKS(counts_are_positive, compare(s, {.piece_count = 0}));
  CHECK_BREAKS(parameter_is_at_most, compare(s, {.piece_count = int_max}));
  CHECK_BREAKS(sizes_fit, compare(s, {.kept_percent = -1}));
  // A schedule that has lost a pass is none of its task, and may take less time than any.
  schedule lost = s;
  lost.order[0].pop_back();
  CHECK(compare(s, divided_model{}).has_task);
  CHECK_FALSE(compare(lost, divided_model{}).has_task);
  CHECK_BREAKS(every_pass_is_known, path_of_difference({{.what = {F, 2, 0}}}, 2, 1));
  CHECK_BREAKS(every_pass_is_known, path_of_difference({{.what = {X, 0, 0}}}, 2, 1));
  CHECK_BREAKS(ticks_fit, path_of_difference({{.what = {F, 0, 0}, .end = tick_max}}, 2, 1));
  CHECK_BREAKS(parameter_is_at_most, path_of_difference({{.what = {F, 0, 0}}}, int_max, int_max));
}

TEST_CASE("hostile layouts: no chunks, shares that are none, and layers of no size") {
  model_share const model{devices{2}, micro_batches{2}, {}};
  CHECK_BREAKS(counts_are_positive, choose_layout(model, placement_kind::looped, 0, 100));
  CHECK_BREAKS(sizes_fit, choose_layout(model, placement_kind::linear, 1, int_min));
  layout_choice plain = choose_layout(model, placement_kind::linear, 1, 100);
  CHECK_BREAKS(sizes_fit, variants_of(plain, {.kept_percent = {101}}));
  CHECK_BREAKS(parameter_is_at_most, variants_of(plain, {.most_sequence_chunks = int_max}));
  CHECK_BREAKS(counts_are_positive, proved_of({}));
  plain.chunk_count = int_max;
  CHECK(variants_of(plain, {.kept_percent = {50}}).size() <= 3);
  layer_chain chain{.m = micro_batches{2}, .layers = std::vector<layer_share>(2), .budget = {4}};
  CHECK(!layouts_for(chain, devices{2}).empty());
  chain.layers[1].stash = tick_min;
  CHECK_BREAKS(sizes_fit, layouts_for(chain, devices{2}));
  chain.layers[1] = {.cost = {.forward = -1}};
  CHECK_BREAKS(no_duration_is_negative, layouts_for(chain, devices{2}));
  // There is no room for the weights: with all budgets spent, none for activations.
  chain.layers[1] = {};
  chain.layers[1].resident = max_tick - 1;
  CHECK(layouts_for(chain, devices{2}, {.kept_percent = {50}}).empty());
  chain.layers[1] = {};
  chain.budget = {};
  CHECK_BREAKS(tables_agree, layouts_for(chain, devices{2}));
}

TEST_CASE("hostile plans: numbers that cannot be summed up") {
  CHECK_BREAKS(counts_are_positive, two_phase_formula({.groups = int_min}, {{1, 1}}));
  CHECK_BREAKS(parameter_is_at_most, two_phase_schedule({int_max, int_max, int_max}, {{1, 1}}));
  CHECK(two_phase_formula({int_max, int_max, int_max}, {{tick_max / 4, 1}}).prefill == max_tick);
  serving_problem problem{{{{{.memory = 1}}}}, {1}, {}};
  serving_plan const plan = plan_serving(problem);
  CHECK(objective_of(problem, plan) == plan.objective);
  CHECK_BREAKS(tables_agree, loads_of(problem, {}));
  CHECK_BREAKS(every_pass_is_known, loads_of(problem, {.device = {1}, .width = {0}}));
  problem.shape.tokens = problem.shape.groups = int_max;
  CHECK_BREAKS(ticks_fit, plan_serving(problem));
  problem = {{{{{.memory = tick_max}}}}, {1}, {}};
  CHECK_BREAKS(sizes_fit, plan_serving(problem));
  CHECK_BREAKS(parameter_is_at_most, divide(int_max, {{1, {1, 1}}}));
  operator_model const one{chain(stages{1}), {operator_cost{.forward = 1, .output = 1}}};
  CHECK_BREAKS(parameter_is_at_most, best_graph_plan(one, {.device_count = int_max}, {}));
  CHECK(best_graph_plan(one, {.bandwidth = tick_max}, {}).found());
  CHECK_BREAKS(parameter_is_at_least, best_partition({.layer = {1.0}, .volume = {1.0}, .link = {}}, 2));
  CHECK_BREAKS(figures_are_in_range,
               best_partition({.layer = {std::nan("")}, .volume = {1.0}, .link = {}}, 1));
  CHECK_BREAKS(sizes_fit, uniform_partition(4, 2, -1));
  CHECK_BREAKS(parameter_is_at_most, uniform_partition(int_max, int_max));
  CHECK_BREAKS(ticks_fit, choose({{{.time = -1}}}, 1));
}

TEST_CASE("hostile predictions: layers of no kind, and runs without a time") {
  namespace t = cost::testing;
  cost::architecture model = t::dense_model(2);
  model.layers[1] = int_max;
  CHECK_THROWS_AS(parameters(model), cost::unpredictable);
  CHECK_THROWS_AS(trained_parameters(model), cost::unpredictable);
  cost::question const q = t::asked(t::dense_model(2));
  CHECK_THROWS_AS(cost::calibrate({q, q}, {1.0}, t::round_constants(), {}), cost::unpredictable);
  CHECK_THROWS_AS(cost::calibrate({q}, {std::nan("")}, t::round_constants(), {}), cost::unpredictable);
  CHECK_THROWS_AS(cost::calibrate({q}, {1.0}, {}, {}), cost::unpredictable);
}

}  // namespace
