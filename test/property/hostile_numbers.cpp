// Numbers that nobody should give to small functions: each refuses them by the rule that they break.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/bounds/closed_forms.hpp>
#include <ashlar/catalog/grouped_interleaved.hpp>
#include <ashlar/catalog/input_shards.hpp>
#include <ashlar/catalog/orders.hpp>
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/core/cost_sizes.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/core/sequence_costs.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/plan/serving/two_phase.hpp>
#include <ashlar/prove/tables.hpp>
#include <ashlar/run/device_status.hpp>
#include <ashlar/run/measure_transfers.hpp>
#include <ashlar/study/tradeoff.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace shapes;

namespace {

constexpr int largest_int = std::numeric_limits<int>::max(), least_int = std::numeric_limits<int>::min();

void is_refused(rule broken, auto call) { CHECK(violations::broken_by(call) == broken); }

TEST_CASE("closed forms of counts and times that are none") {
  using enum rule;
  for (auto const bound : {linear_bound, v_shape_bound, deferred_weights_bound, warm_up_bound}) {
    auto const with = [&](int p, int m, stage_cost const& cost, tick transfer, int limit) {
      return [=] { bound({devices{p}, micro_batches{m}, cost, transfer, limit}); };
    };
    for (int const count : {0, least_int}) {
      is_refused(counts_are_positive, with(count, 4, {}, 0, 2));
      is_refused(counts_are_positive, with(2, count, {}, 0, 2));
      is_refused(counts_are_positive, with(2, 4, {}, 0, count));
    }
    is_refused(no_duration_is_negative, with(2, 4, {-1, 1, 1}, 0, 2));
    is_refused(no_duration_is_negative, with(2, 4, {}, -1, 2));
    is_refused(ticks_fit, with(2, 4, {max_tick, 1, 1}, 0, 2));
    is_refused(ticks_fit, with(largest_int, largest_int, {1 << 30, 1, 1}, 0, 2));
    CHECK(bound({devices{largest_int}, micro_batches{largest_int}, {}, 0, largest_int}) > 0);
  }
}

TEST_CASE("catalog entries of counts that there is no memory for") {
  using enum rule;
  is_refused(parameter_is_at_most, [] { catalog::chain_with_shards(stages{2}, largest_int); });
  is_refused(parameter_is_at_most, [] { catalog::with_input_shards(chain(stages{2}), largest_int); });
  is_refused(parameter_is_at_least, [] { catalog::with_input_shards(chain(stages{2}), -1); });
  is_refused(parameter_is_at_least, [] { catalog::k_forwards_k_backwards({}, {}, 1, 0); });
  is_refused(parameter_is_at_most,
             [] { catalog::grouped_interleaved({.p = devices{2}, .m = micro_batches{largest_int}}); });
  is_refused(parameter_is_at_most, [] { catalog::longest_passes(devices{largest_int}, {}); });
  auto const costing = [](tick forward) { return catalog::vocabulary_costs{{.forward = forward}, {}}; };
  for (auto const make : {+[](catalog::vocabulary_costs const& c) {
                            return catalog::vocabulary_one_f_one_b(devices{2},
                                                                   shard_gradient::of_backward, c);
                          },
                          +[](catalog::vocabulary_costs const& c) {
                            return catalog::interlaced_one_f_one_b(devices{2}, c);
                          }}) {
    is_refused(no_duration_is_negative, [&] { make(costing(-1)); });
    is_refused(ticks_fit, [&] { make(costing(max_tick / 8)); });
    is_refused(counts_are_positive, [&] { make({stage_cost::nothing(), stage_cost::nothing()}); });
  }
  catalog::shape const small{.p = devices{2}, .m = micro_batches{4}};
  CHECK(catalog::check_count(small, parameter::chunk_count, 2, 0)
        == catalog::check_count(small, parameter::chunk_count, 2));
}

TEST_CASE("costs that would be tables without end") {
  using enum rule;
  costs differ;
  differ.passes = pass_costs::by_stage_and_micro_batch({{}, {.forward = 2}}, 2);
  is_refused(parameter_is_at_most, [&] { joined(differ, largest_int, differ, 2); });
  is_refused(parameter_is_at_least, [&] { joined(differ, -1, differ, 2); });
  CHECK(joined(differ, 2, differ, 2).passes.micro_batches() == 4);
  is_refused(parameter_is_at_most, [] { with_causal_chunks({}, largest_int, {}); });
  stage_parts const layer{.forward = {{}}, .backward = {{}}};
  is_refused(parameter_is_at_most, [&] { repeated(layer, largest_int); });
  CHECK(repeated(layer, 3).forward.size() == 3);
  is_refused(parameter_is_at_most, [] { repeated(one_f_one_b(2, 2), largest_int); });
  execution_costs pairs;
  pairs.passes.overlapped = pair_costs::by_stage(std::vector<tick>(12, 1), 2);
  CHECK_BREAKS(tables_agree, pair_costs::by_stage({1, 1, 1}, largest_int));
  CHECK(check_sizes(pairs, largest_int, 2, 2, 1).broken == tables_agree);
}

TEST_CASE("programs of serving without devices, or that are too long") {
  using enum rule;
  is_refused(counts_are_positive, [] { two_phase_graph({}, 0); });
  is_refused(counts_are_positive, [] { two_phase_graph({.prefills = 0}, 1); });
  is_refused(parameter_is_at_most, [] { two_phase_graph({.prefills = largest_int}, largest_int); });
}

TEST_CASE("times and places that are not there") {
  using enum rule;
  program const p = measure::round_trip();
  std::vector<instruction_time> const times(p.instructions.size() - 1);
  is_refused(tables_agree, [&] { measure::one_way_ns(p.view(), {}); });
  is_refused(tables_agree, [&] { measure::sum_ns(p.view(), times, 0); });
  is_refused(tables_agree, [&] {
    measure::sum_ns(p.view(), std::vector<instruction_time>(p.instructions.size()), 1);
  });
  is_refused(tables_agree, [&] { measure::sum_of_last_ns(p.view(), times, 1); });
  is_refused(counts_are_positive, [&] { measure::sum_of_last_ns(p.view(), times, 0); });
  std::string const words = describe(p.view(), 0, {.what = activity::computes, .index = largest_int},
                                     [](int) { return std::string(); });
  CHECK(words.find("position") == std::string::npos);
  CHECK_FALSE(are_begins({}, -1, 0));
  CHECK_FALSE(is_middle(largest_int, least_int));
  CHECK(reduction_time({}, schedule{}) == 0);
}

}  // namespace
