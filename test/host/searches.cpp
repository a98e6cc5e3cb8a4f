// Schedules that a search found, run on threads: the bits of the sequential reference.
#include "limits.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/network.hpp>
#include <ashlar/host/runtime.hpp>
#include <ashlar/run/sequential.hpp>
#include <ashlar/search/search.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace ashlar;

namespace {

struct searched {
  placement where;
  int m;
  memory_limit limit;
  int sequence_chunks = 1;
};

TEST_CASE("host: searched schedules are proved and give the sequential bits") {
  std::vector<searched> const problems{
      {linear(devices{1}), 3, chunk_activations(1)},
      {linear(devices{2}), 5, chunk_activations(2)},
      {linear(devices{4}), 8, chunk_activations(3)},
      {v_shape(devices{3}), 6, chunk_activations(2)},
      {v_shape(devices{4}), 8, chunk_activations(5)},
      {looped(devices{3}, chunks{2}), 7, chunk_activations(5)},
      {wave(devices{2}, waves{2}), 5, chunk_activations(6)},
      {placement(devices{3}, {{2, 0, 0, 1, 2}}), 6, chunk_activations(4)},
      {v_shape(devices{4}), 6,
       limits::sized({60, 40, 40, 60}, {10}, {3})},  // given back by the input pass
      {v_shape(devices{4}), 6,
       limits::recomputing(limits::sized({45}, {10}, {10}), 8, {0, 1, 2, 3, 5}, 1)},  // recomputed
      {linear(devices{3}), 2, chunk_activations(7), 4},
      {v_shape(devices{2}), 2, limits::recomputing(limits::sized({60}, {10}, {4}), 4, {1, 2}, 2), 3},
  };
  std::uint64_t seed = 1;
  for (searched const& s : problems)
    for (objective aim : {objective::span, objective::makespan, objective::both, objective::program}) {
      CAPTURE(s.where.stage_count());
      CAPTURE(s.m);
      CAPTURE(static_cast<int>(aim));
      std::vector<stage_cost> each;
      for (int stage = 0; stage < s.where.stage_count(); ++stage)
        each.push_back({10, 13 + stage % 2, 7});
      search_result const found = search({.where = s.where,
                                          .m = micro_batches{s.m},
                                          .cost = costs(each, 1),
                                          .limit = s.limit,
                                          .sequence_chunks = s.sequence_chunks},
                                         {.passes = 20'000, .seed = seed, .aim = aim});
      for (transfer_lanes lanes :
           {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction}) {
        program const p = lower(found.best, {lanes});
        REQUIRE(check(p).ok());
        conformance::network network(p.stage_count(), p.micro_batch_count());
        sequential(p, network).run();
        conformance::network::outcome const expected = network.take();
        network.delays = seed++;
        host::runtime(p, network).run();
        CHECK(network.take() == expected);
      }
    }
}

}  // namespace
