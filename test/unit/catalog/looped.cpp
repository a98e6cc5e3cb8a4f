// Shapes that the schedules on one device, on the looped and wave placements and over sequence chunks
// refuse, and the sequences that are no repetition.
#include "shapes.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

using namespace shapes;

namespace {

constexpr int enormous = std::numeric_limits<int>::max();

diagnosis refused(std::string_view name, catalog::shape const& s) {
  return catalog::find(name)->check(s);
}

TEST_CASE("no chunks, waves, rounds or sequence chunks, or too many to count") {
  catalog::shape s{devices{4}, micro_batches{8}};
  for (int wrong : {0, -1, enormous}) {
    rule const broken = wrong < 1 ? rule::parameter_is_at_least : rule::parameter_is_at_most;
    std::int64_t const bound = wrong < 1 ? 1 : catalog::most_runs / (4 * 8);
    catalog::shape bad = s;
    bad.v = chunks{wrong};
    for (char const* name :
         {"depth-first", "breadth-first", "looped-bfs", "breadth-first-hybrid", "interleaved-zb",
          "depth-first-accumulation", "breadth-first-accumulation"}) {
      CAPTURE(name);
      CHECK(refused(name, bad)
            == diagnosis{
                .broken = broken, .number = bound, .which = parameter::chunk_count, .given = wrong});
    }
    bad = s;
    bad.w = waves{wrong};
    CHECK(refused("hanayo", bad).broken == broken);
    CHECK(refused("hanayo", bad).which == parameter::wave_count);
    bad = s;
    bad.sequence_chunks = wrong;
    for (char const* name : {"seq1f1b", "seq1f1b-interleaved"}) {
      CHECK(refused(name, bad).broken == broken);
      CHECK(refused(name, bad).which == parameter::sequence_chunk_count);
    }
  }
  CHECK(!refused("hanayo", {devices{enormous}, micro_batches{1}}).ok());
}

TEST_CASE("rounds must divide the micro-batches") {
  catalog::shape s{devices{4}, micro_batches{8}};
  s.rounds = 3;
  CHECK(refused("breadth-first-hybrid", s)
        == diagnosis{.broken = rule::parameter_is_a_multiple,
                     .number = 3,
                     .which = parameter::micro_batch_count,
                     .given = 8});
  for (int wrong : {0, -2}) {
    s.rounds = wrong;
    CHECK(refused("breadth-first-hybrid", s).which == parameter::round_count);
  }
}

TEST_CASE("interleaved sequence chunks take two chunks a device, and whole groups of sequences") {
  catalog::shape s{devices{4}, micro_batches{6}};
  CHECK(refused("seq1f1b-interleaved", s).ok());  // 4 sequence chunks, of 2 sequences
  s.sequence_chunks = 3;                          // 6, of 2
  CHECK(refused("seq1f1b-interleaved", s).ok());
  s.m = micro_batches{5};
  CHECK(refused("seq1f1b-interleaved", s)
        == diagnosis{.broken = rule::parameter_is_a_multiple,
                     .number = 2,
                     .which = parameter::micro_batch_count,
                     .given = 5});
  s.sequence_chunks = 4;
  CHECK(refused("seq1f1b-interleaved", s).ok());
  s.v = chunks{1};
  CHECK(refused("seq1f1b-interleaved", s)
        == diagnosis{.broken = rule::parameter_is_at_least,
                     .number = 2,
                     .which = parameter::chunk_count,
                     .given = 1});
}

TEST_CASE("a group has at least p and at most m micro-batches") {
  for (char const* name : {"depth-first", "interleaved-zb"}) {
    catalog::shape s{devices{4}, micro_batches{8}};
    s.group = 3;
    CHECK(refused(name, s)
          == diagnosis{.broken = rule::parameter_is_at_least,
                       .number = 4,
                       .which = parameter::group_size,
                       .given = 3});
    s.group = -4;
    CHECK(refused(name, s).number == 4);
    s.group = 9;
    CHECK(refused(name, s)
          == diagnosis{.broken = rule::parameter_is_at_most,
                       .number = 8,
                       .which = parameter::group_size,
                       .given = 9});
    for (int right : {0, 4, 5, 6, 7, 8}) {
      s.group = right;
      CHECK(refused(name, s).ok());
    }
  }
}

TEST_CASE("any number of micro-batches, in groups of any size that there may be") {
  for (char const* name : {"depth-first", "interleaved-zb"})
    for (int p = 1; p <= 7; ++p)
      for (int m = 1; m <= 17; ++m)
        for (int v = 1; v <= 4; ++v)
          for (int group = 0; group <= m; ++group) {
            catalog::shape s{devices{p}, micro_batches{m}, costs(stage_cost{2, 1, 3}, 1)};
            s.v = chunks{v};
            s.group = group;
            if (!refused(name, s).ok()) continue;
            CAPTURE(p);
            CAPTURE(m);
            CAPTURE(v);
            CAPTURE(group);
            schedule const made = catalog::find(name)->make(s);
            REQUIRE(check(made).ok());
            REQUIRE(made.micro_batch_count() == m);
          }
}

// PyTorch's interleaved 1F1B where p does not divide m: 45 ticks at p = 4, m = 6, two chunks.
TEST_CASE("no group is faster than the one that is taken unless told") {
  for (char const* name : {"depth-first", "interleaved-zb"})
    for (int p : {2, 3, 4, 7})
      for (int m = 1; m <= 3 * p + 1; ++m)
        for (int v : {2, 3})
          for (costs const& cost : {costs{}, costs(stage_cost{5, 5, 4})}) {
            CAPTURE(name);
            CAPTURE(p);
            CAPTURE(m);
            catalog::shape s{.p = devices{p}, .m = micro_batches{m}, .cost = cost, .v = chunks{v}};
            tick const taken = makespan(catalog::find(name)->make(s));
            if (std::string_view(name) == "depth-first" && m == 6 && p == 4 && v == 2 && cost == costs{})
              CHECK(taken == 45);
            for (s.group = p; s.group <= m; ++s.group)
              CHECK(taken <= makespan(catalog::find(name)->make(s)));
          }
  catalog::shape s{devices{4}, micro_batches{8}};
  for (auto [m, group] : {std::pair{8, 4}, {9, 5}, {13, 7}, {15, 5}, {6, 6}, {3, 4}}) {
    s.m = micro_batches{m};
    CHECK(catalog::group_of(s) == group);
  }
}

TEST_CASE("rounds number their micro-batches in the order in which the last stage runs them") {
  for (int rounds : {1, 2, 4}) {
    catalog::shape s{devices{2}, micro_batches{8}};
    s.rounds = rounds;
    int next = 0;
    schedule const made = catalog::find("breadth-first-hybrid")->make(s);
    for (timed_pass const t : each_pass(made.order[1]))
      if (t.what.kind == F && t.what.stage == 3) CHECK(t.what.micro_batch == next++);
    CHECK(next == 8);
  }
}

std::vector<time_slot> at_zero(std::vector<pass> const& passes) {
  std::vector<time_slot> order;
  for (pass const what : passes) order.push_back({what});
  return order;
}

TEST_CASE("one forward, one backward in turn") {
  std::vector<pass> const f{{F, 0, 0}, {F, 0, 1}, {F, 0, 2}}, b{{B, 0, 0}, {B, 0, 1}, {B, 0, 2}};
  CHECK(catalog::one_forward_one_backward(f, b, 1) == at_zero({f[0], f[1], b[0], f[2], b[1], b[2]}));
  CHECK(catalog::one_forward_one_backward(f, b, 9) == at_zero({f[0], f[1], f[2], b[0], b[1], b[2]}));
  std::vector<pass> const i{{I, 0, 0}, {I, 0, 1}, {I, 0, 2}}, w{{W, 0, 0}, {W, 0, 1}, {W, 0, 2}};
  CHECK(catalog::one_forward_one_backward(f, i, 1, 1)
        == at_zero({f[0], f[1], i[0], f[2], i[1], w[0], i[2], w[1], w[2]}));
}

}  // namespace
