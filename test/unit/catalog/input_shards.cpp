#include <ashlar/catalog/input_shards.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/values/clip.hpp>

#include <string>

using namespace ashlar;

namespace {

TEST_CASE("shards of the input layer come before all other stages, which keep their edges") {
  stage_graph const g = catalog::with_input_shards(
      catalog::chain_with_shards(stages{2}, 2, shard_gradient::of_forward), 3);
  CHECK(g.count() == 7);
  for (int s = 0; s < 3; ++s)
    CHECK((g.successors(s).size() == 1 && g.successors(s)[0] == 3 && g.predecessors(s).empty()));
  CHECK((g.predecessors(3).size() == 3 && g.successors(4).size() == 2));
  CHECK((g.shards_with(5).size() == 2 && g.shards_with(3).empty() && g.gives_gradient_early(6)));
  CHECK(catalog::with_input_shards(chain(stages{2}), 0) == chain(stages{2}));
  CHECK(catalog::with_input_shards(in_sequence_chunks(chain(stages{2}), 2), 1).sequence_chunks() == 2);
}

TEST_CASE("an input layer in shards makes no schedule longer if messages take no time") {
  for (char const* name : {"vocab-1", "vocab-2", "interlaced", "1f1b", "1f1b-recompute", "zb-h1",
                           "v-half", "gpipe", "seq1f1b"})
    for (int p : {1, 2, 3, 4})
      for (int m : {2, 4, 8})
        for (tick transfer : {0, 2}) {
          CAPTURE(std::string(name));
          CAPTURE(p);
          CAPTURE(m);
          schedule const s = catalog::find_any(name)->make(
              {devices{p}, micro_batches{m},
               costs(stage_cost{.forward = 3, .backward_input = 4, .backward_weight = 5}, transfer)});
          schedule const t = catalog::with_input_shards(s);
          CHECK(t.stage_count() == s.stage_count() + p);
          CHECK(check(t).ok());
          CHECK(check(lower(t)).ok());
          CHECK(check(lower(t, {.lanes = transfer_lanes::one_a_peer,
                                .receives = receive_time::when_needed}))
                    .ok());
          if (transfer == 0) CHECK(makespan(t) == makespan(s));
          CHECK(makespan(t) <= makespan(s) + 2 * transfer);
          for (int d = 0; d < p; ++d)
            CHECK((t.where.device_of(0, d) == d
                   && t.where.device_of(0, p + d) == s.where.device_of(0, d)));
        }
}

TEST_CASE("costs of stages and micro-batches move with their stages") {
  schedule s = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze();
  s = retime(
      s, costs(pass_costs::by_stage_and_micro_batch({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {2, 2, 2}}, 2)));
  schedule const t = catalog::with_input_shards(s);
  CHECK(t.cost.passes.of(1, 1) == stage_cost{0, 0, 0, 0});
  CHECK(t.cost.passes.of(2, 1) == stage_cost{4, 5, 6});
  CHECK(t.cost.passes.of(3, 0) == stage_cost{7, 8, 9});
}

TEST_CASE("an input layer in shards is for one route, without work and with one size") {
  schedule const s = catalog::one_f_one_b(devices{2}) | repeat(micro_batches{2}) | squeeze();
  CHECK_BREAKS(
      parameter_is_at_most,
      catalog::with_input_shards(catalog::find_any("chimera")->make({devices{2}, micro_batches{2}})));
  CHECK_BREAKS(work_uses_what_exists, catalog::with_input_shards(clip_micro_batches(s)));
  schedule late = s;
  late.order[1][0].start = 0;
  CHECK_BREAKS(no_pass_starts_before_its_input, catalog::with_input_shards(late));
}

}  // namespace
