// Closed forms of STP that follow from its order. The authors' orders are in data/gold/orders/stp.json.
#include "gold/peaks_are.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/simulate/part_timeline.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

// The costs with times of pairs: with a fused backward, an input pass and a weight pass.
costs costs_of_pairs(stage_cost const& each, std::vector<tick> const& pairs) {
  costs c(each);
  c.passes.overlapped = pair_costs::by_stage(pairs, 1);
  return c;
}

schedule stp(int p, int m, costs const& c = {}) {
  return catalog::find("stp")->make({devices{p}, micro_batches{m}, c});
}

// No pair of a weight pass is on the critical path, unless it is longer than the others.
TEST_CASE("STP: the makespan for all costs under which the weight passes of pairs wait for nobody") {
  int cases = 0;
  for (tick f = 1; f <= 4; ++f)
    for (tick i = 1; i <= 5; ++i)
      for (tick w = 1; w <= 4; ++w)
        for (tick hidden = 0; hidden <= std::min({f, i, w}); hidden += 2) {
          tick const B = i + w, FB = f + B - hidden, FI = f + i - hidden, FW = f + w - hidden / 2;
          if (FW > std::max(FI, 2 * f)) continue;
          costs const c = costs_of_pairs({f, i, w}, {FB, FI, FW});
          for (int p = 1; p <= 6; ++p)
            for (int m : {3 * p - 1, 3 * p, 5 * p + 1}) {
              CAPTURE(p);
              CAPTURE(m);
              CHECK(makespan(stp(p, m, c))
                    == (2 * p + 1) * f + (p + 2) * B + (2 * m - 5 * p + 2) * FB
                           + (p - 1)
                                 * (2 * FI + std::max(2 * f, FI) + 2 * std::max(FI, B)
                                    + std::max(2 * w, B)));
              ++cases;
            }
        }
  CHECK(cases > 1000);
}

TEST_CASE(
    "STP: bubble (p-1)(2FI+f-i-3w), of the paper (p-1)(f+i-w) for equal passes without exchanges") {
  for (int p = 1; p <= 8; ++p)
    for (int m : {3 * p - 1, 4 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      schedule const equal = stp(p, m, costs(stage_cost{5, 5, 5}));
      for (tick const work : busy(equal)) CHECK(makespan(equal) - work == (p - 1) * (5 + 5 - 5));
      for (tick f = 2; f <= 5; ++f)
        for (tick i = 2; i <= 5; ++i)
          for (tick w = 1; w <= i; ++w)
            for (tick FI = std::max({f, i, i + w}); FI <= std::min(f + i, 2 * f); ++FI) {
              tick const hidden = f + i - FI, FB = f + i + w - hidden, FW = f + w - hidden / 2;
              schedule const s = stp(p, m, costs_of_pairs({f, i, w}, {FB, FI, FW}));
              std::vector<tick> const work = busy(s);
              CHECK(makespan(s) - *std::max_element(work.begin(), work.end())
                    == (p - 1) * (2 * FI + f - i - 3 * w));
            }
    }
}

// Figures of the authors' table: F, B, W without the exchange AR, which only forwards alone show. No
// input pass runs alone, so its time has no exchange, and a fused backward hides it beside its weights'
// parts.
TEST_CASE(
    "STP: bubble (p-1)(F+AR+B-W) of the paper if F = W <= B <= F+2AR, and 2p+1+d exchanges on device "
    "d") {
  for (int p = 1; p <= 6; ++p)
    for (int m : {3 * p - 1, 4 * p})
      for (tick W = 2; W <= 5; ++W)
        for (tick F = W; F <= 6; ++F)
          for (tick AR = 0; AR <= W; ++AR)
            for (tick B = W; B <= F + 2 * AR; ++B) {
              CAPTURE(p);
              CAPTURE(m);
              schedule const s = stp(p, m, costs_of_pairs({F + AR, B, W}, {F + B + W, F + B, F + W}));
              std::vector<tick> const work = busy(s);
              tick const all = 2 * m * (F + B + W);
              for (int d = 0; d < p; ++d)
                CHECK(work[static_cast<std::size_t>(d)] == all + (2 * p + 1 + d) * AR);
              tick const bubble = makespan(s) - work.back();
              CHECK(bubble == (p - 1) * (3 * F + AR + B - 3 * W));
              if (F == W) CHECK(bubble == (p - 1) * (F + AR + B - W));
            }
}

// The schedule on two resources, with n layers a chunk. The authors' sum is (p-1)(F+AR+B-W) + 3p AR on
// the last device. Here, a pass computes beside the last exchange of the one before it.
TEST_CASE(
    "STP: on two resources, idle for (p-1)(F+B-W) + ((4-2/n)p-1) AR if F = W <= B <= F+2AR, B <= "
    "2F-AR") {
  using enum part_resource;
  int cases = 0;
  for (int p = 1; p <= 6; ++p)
    for (int m : {3 * p - 1, 4 * p})
      for (int n : {1, 2, 5})
        for (tick F = 2; F <= 6; F += 2)
          for (tick AR = 0; AR <= F; ++AR)
            for (tick B = F; B <= std::min(F + 2 * AR, 2 * F - AR); ++B) {
              CAPTURE(p);
              CAPTURE(m);
              CAPTURE(n);
              stage_parts const layer{.forward = {{compute, F}, {exchange, AR}},
                                      .backward = {{compute, B}, {compute, F, true}, {exchange, AR}}};
              part_costs const parts{.stages = {repeated(layer, n)}, .how = braiding::in_turn_delayed};
              part_timeline const t = time_parts(stp(p, m, costs(costs_of(parts))), parts);
              for (device_parts const& own : t.devices)
                CHECK(t.makespan - own.computing == (p - 1) * n * B + ((4 * p - 1) * n - 2 * p) * AR);
              ++cases;
            }
  CHECK(cases > 800);
}

// The paper's 3p is without the forward of a pair, and as if activations were freed by the input pass.
TEST_CASE("STP: 3p + 1 activations on device d, and d - 1 more that wait for their weight passes") {
  for (int p = 1; p <= 8; ++p)
    for (int m : {3 * p - 1, 3 * p, 4 * p, 7 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      schedule const s = stp(p, m);
      peaks_are(s, [&](int d) { return 3 * p + 1 + std::max(0, d - 1); });
      stage_memory const until_input{.stash = 1, .stash_left = 0};
      for (byte_count const held : peak_memory(s, {.stages = {until_input}})) CHECK(held == 3 * p + 1);
    }
}

TEST_CASE("STP: how many forwards of each device run alone and with what") {
  for (int p = 1; p <= 6; ++p)
    for (int m : {3 * p - 1, 5 * p}) {
      schedule const s = stp(p, m);
      for (int d = 0; d < p; ++d) {
        int alone = 0, fused = 0, input = 0, weight = 0;
        for (time_slot const& t : s.order[static_cast<std::size_t>(d)]) {
          if (t.what.kind != pass_kind::forward) continue;
          ++(!t.is_pair()                                 ? alone
             : t.beside.kind == pass_kind::backward       ? fused
             : t.beside.kind == pass_kind::backward_input ? input
                                                          : weight);
        }
        CHECK(alone == 2 * p + 1 + d);  // the paper counts 2p + 1 exchanges that are seen
        CHECK(weight == p - 1 - d);
        CHECK(input == 3 * (p - 1) - d);
        CHECK(fused == 2 * (m - 3 * p + 1) + 1 + d);
      }
    }
}

TEST_CASE("STP: with fewer than 3p - 1 micro-batches, the order of 3p - 1 without the others") {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m < 3 * p - 1; ++m) {
      CAPTURE(p);
      CAPTURE(m);
      schedule const few = stp(p, m);
      CHECK(check(few).ok());
      CHECK(few == (stp(p, 3 * p - 1) | take(micro_batches{m}) | squeeze()));
    }
  CHECK(catalog::find("stp")->check({devices{5461}, micro_batches{1}}).ok());
  diagnosis const many = catalog::find("stp")->check({devices{5462}, micro_batches{1}});
  CHECK(many.broken == rule::parameter_is_at_most);
  CHECK((many.which == parameter::device_count && many.number == 5461));
}

}  // namespace
