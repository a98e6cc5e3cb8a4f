// Formulas for the schedules on one device, on the looped and wave placements, of recomputation,
// inference and sequence chunks, in p devices, m micro-batches, v chunks, w waves, the ticks f, b = i +
// w of a chunk's forward and backward, and L of a transfer; swept over many of each.
#include "gold/peaks_are.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

using namespace ashlar;

namespace {

struct looped_setting {
  catalog::shape s;
  tick p, m, v, f, b, i, w, L;

  schedule operator()(std::string_view name) const { return catalog::find(name)->make(s); }
};

// Sweeps every p and m in reach, v = 1 .. 4 chunks, several costs.
template <class Look>
void sweep_chunks(std::vector<tick> const& transfers, Look look) {
  for (stage_cost const& c : {stage_cost{1, 1, 1}, {2, 1, 1}, {1, 3, 2}, {7, 5, 3}, {10, 1, 1}})
    for (tick L : transfers)
      for (int p : {1, 2, 3, 4, 6, 9})
        for (int m : {1, 2, 3, 4, 5, 6, 8, 9, 12, 18, 24})
          for (int v = 1; v <= 4; ++v) {
            looped_setting x{{devices{p}, micro_batches{m}, costs(c, L)},
                             p,
                             m,
                             v,
                             c.forward,
                             0,
                             c.backward_input,
                             c.backward_weight,
                             L};
            x.s.v = chunks{v};
            x.s.w = waves{v};
            x.b = x.i + x.w;
            CAPTURE(p);
            CAPTURE(m);
            CAPTURE(v);
            CAPTURE(L);
            CAPTURE(x.f);
            CAPTURE(x.i);
            CAPTURE(x.w);
            look(x);
          }
}

TEST_CASE("accumulation on one device: no bubble, v or m v held, nothing sent") {
  sweep_chunks({0, 7}, [](looped_setting const& x) {
    for (char const* name : {"depth-first-accumulation", "breadth-first-accumulation"}) {
      schedule const s = x(name);
      CHECK(s.device_count() == 1);
      CHECK(makespan(s) == x.m * x.v * (x.f + x.b));
      peaks_are(s, [&](int) { return name[0] == 'd' ? x.v : x.m * x.v; });
    }
  });
}

TEST_CASE("breadth-first, either way, m >= p: its makespan with transfers, m v held") {
  sweep_chunks({0, 1, 7, 50}, [](looped_setting const& x) {
    for (char const* name : {"breadth-first", "looped-bfs"}) {
      CAPTURE(name);
      schedule const s = x(name);
      peaks_are(s, [&](int) { return x.m * x.v; });
      if (x.m < x.p) continue;
      tick const hop = x.p == 1 ? 0 : x.L;  // on one device nothing is sent
      CHECK(makespan(s)
            == (x.v
                - 1) * (std::max(x.m * x.f, x.p * (x.f + hop)) + std::max(x.m * x.b, x.p * (x.b + hop)))
                   + x.m * (x.f + x.b) + (x.p - 1) * (x.f + x.b + 2 * x.L));
    }
  });
}

TEST_CASE("breadth-first in r rounds: bubble r (p-1)(f+b), (m/r) v held") {
  sweep_chunks({0}, [](looped_setting x) {
    for (int r = 1; r <= x.m; ++r) {
      CAPTURE(r);
      x.s.rounds = r;
      diagnosis const d = catalog::find("breadth-first-hybrid")->check(x.s);
      CHECK(d.ok() == (x.m % r == 0));
      if (!d.ok()) continue;
      schedule const s = x("breadth-first-hybrid");
      peaks_are(s, [&](int) { return x.m / r * x.v; });
      if (x.m / r >= x.p) CHECK(makespan(s) == x.m * x.v * (x.f + x.b) + r * (x.p - 1) * (x.f + x.b));
    }
  });
}

TEST_CASE("depth-first, v >= 2, p divides m: bubble (p-1)(f+b), its memory") {
  sweep_chunks({0, 1}, [](looped_setting const& x) {
    if (x.v == 1 || x.m % x.p != 0) return;
    schedule const s = x("depth-first");
    peaks_are(s, [&](int d) { return std::min(x.m * x.v, (x.v - 1) * x.p + 2 * (x.p - 1 - d) + 1); });
    // A transfer hides where device and round trip leave room for it.
    tick const sent = x.p == 1 ? 0 : 2 * (x.p * x.v - 1) * x.L;
    tick const hidden = (x.m * x.v + x.p - 1) * (x.f + x.b);
    if (x.L == 0)
      CHECK(makespan(s) == hidden);
    else if (x.m == x.p || x.f >= 7)
      CHECK(makespan(s) == hidden + sent);
  });
}

// T is the time of a pair. A device is busy W (f + b) + (m v - W) T with W = 2(p-1-d) + (v-1) p + 1 in
// its warm-up.
TEST_CASE("combined 1F1B, p divides m: bubble (p-1)(2T-f-b), one forward more than depth-first held") {
  int pairs = 0;
  sweep_chunks({0}, [&](looped_setting x) {
    if (x.p == 1 ? x.v != 1 : x.v == 1 || x.m < x.p) {
      CHECK((x.v > 1 || !catalog::find("combined-1f1b")->check(x.s).ok()));
      return;
    }
    if (x.m % x.p != 0) return;
    for (tick T = std::max(x.f, x.b); T <= x.f + x.b; ++T) {
      CAPTURE(T);
      x.s.cost.passes.overlapped = T;
      schedule const s = x("combined-1f1b");
      auto const warm_up = [&](tick d) {
        return std::min(x.m * x.v, 2 * (x.p - 1 - d) + (x.v - 1) * x.p + 1);
      };
      peaks_are(s, [&](tick d) { return std::min(x.m * x.v, warm_up(d) + 1); });
      for (tick d = 0; d < x.p; ++d)
        CHECK(busy(s)[static_cast<std::size_t>(d)]
              == warm_up(d) * (x.f + x.b) + (x.m * x.v - warm_up(d)) * T);
      if (x.m < 2 * x.p) continue;
      CHECK(makespan(s) == busy(s)[0] + (x.p - 1) * (2 * T - x.f - x.b));
      ++pairs;
    }
    x.s.cost.passes.overlapped = pass_costs::one_after_the_other;
    if (x.m >= 2 * x.p)  // without gain from its pairs it takes as long
      CHECK(makespan(x("combined-1f1b")) == makespan(x(x.p == 1 ? "1f1b" : "depth-first")));
  });
  CHECK(pairs > 100);
}

TEST_CASE("depth-first in groups: any g from p to m, (v-1) g + 2(p-1-d) + 1 held if g divides m") {
  sweep_chunks({0}, [](looped_setting x) {
    if (x.v == 1) return;
    for (int g = 1; g <= x.m + 1; ++g) {
      CAPTURE(g);
      x.s.group = g;
      diagnosis const d = catalog::find("depth-first")->check(x.s);
      CHECK(d.ok() == (x.p <= g && g <= x.m));
      if (!d.ok()) continue;
      schedule const s = x("depth-first");
      CHECK(check(s).ok());
      CHECK(makespan(s) >= (x.m * x.v + x.p - 1) * (x.f + x.b));
      if (x.m % g != 0) continue;
      CHECK(makespan(s) == (x.m * x.v + x.p - 1) * (x.f + x.b));
      peaks_are(s,
                [&](int dev) { return std::min(x.m * x.v, (x.v - 1) * g + 2 * (x.p - 1 - dev) + 1); });
    }
  });
}

TEST_CASE("interleaved zero bubble, p divides m: bubble (p-1)(f+i-w) for w <= min(f, i), v p held") {
  sweep_chunks({0}, [](looped_setting const& x) {
    schedule const s = x("interleaved-zb");
    CHECK(check(s).ok());
    if (x.m % x.p != 0) return;
    peaks_are(s, [&](int) { return std::min(x.m * x.v, x.v * x.p); });
    tick const least = x.m * x.v * (x.f + x.b) + (x.p - 1) * (x.f + x.i - x.w);
    if (x.w <= x.f && x.w <= x.i)
      CHECK(makespan(s) == least);
    else
      CHECK(makespan(s) >= least);
  });
}

TEST_CASE("transfers of a tenth of a pass: the ideal of p=8, m=32") {
  catalog::shape s{devices{8}, micro_batches{32}, costs(stage_cost{10, 10, 10}, 1)};
  s.v = chunks{2};
  CHECK(makespan(catalog::find("depth-first")->make(s)) == 2160);
  CHECK(makespan(catalog::find("interleaved-zb")->make(s)) <= 2027 * 1.01);
  s.v = chunks{4};
  CHECK(makespan(catalog::find("depth-first")->make(s)) == 4112);
}

TEST_CASE("Hanayo, m >= p: bubble 2(p-1) max(f, b), 2 w m - (p-1-d) held") {
  sweep_chunks({0}, [](looped_setting const& x) {
    schedule const s = x("hanayo");
    CHECK(check(s).ok());
    if (x.m < x.p) return;
    CHECK(makespan(s) == 2 * x.v * x.m * (x.f + x.b) + 2 * (x.p - 1) * std::max(x.f, x.b));
    peaks_are(s, [&](int d) { return 2 * x.v * x.m - (x.p - 1 - d); });
  });
}

TEST_CASE("1F1B with recomputation: each forward twice, still a bubble of (p-1)(f+b)") {
  for (tick again : {1, 2, 5})
    sweep_chunks({0}, [&](looped_setting x) {
      x.s.cost.passes.at(0).recompute = again;
      schedule const s = x("1f1b-recompute");
      CHECK(makespan(s) == x.m * (x.f + again + x.b) + (x.p - 1) * (x.f + x.b));
      peaks_are(s, [&](int d) { return std::min(x.m, x.p - d); });
      program const made = lower(s);
      for (int d = 0; d < x.p; ++d) {  // inputs for all in flight, activations for one alone
        CHECK(count_slots(made.view(), d, slot_kind::checkpoint) == std::min(x.m, x.p - d));
        CHECK(count_slots(made.view(), d, slot_kind::stash) <= 2);
      }
    });
}

TEST_CASE("inference: (m + p - 1) f and a transfer a hop") {
  sweep_chunks({0, 1, 50}, [](looped_setting const& x) {
    schedule const s = x("inference");
    CHECK(s.mode == execution_mode::inference);
    peaks_are(s, [](int) { return 1; });
    CHECK(makespan(s) == (x.m + x.p - 1) * x.f + (x.p - 1) * x.L);
  });
}

TEST_CASE("Seq1F1B: bubble (p-1)(f+b) of a sequence chunk, p - 1 - d + q held") {
  sweep_chunks({0}, [](looped_setting x) {
    int const q = static_cast<int>(x.v);
    x.s.sequence_chunks = q;
    schedule const s = x("seq1f1b");
    CHECK(s.micro_batch_count() == x.m * q);
    CHECK(makespan(s) == (x.m * q + x.p - 1) * (x.f + x.b));
    peaks_are(s, [&](int d) { return std::min(x.m * q, x.p - 1 - d + q); });
  });
}

// The order as in the authors' code: sequence chunks in groups, in turns on the chunks of a device.
TEST_CASE("interleaved Seq1F1B: bubble (p-1)(f+b) of a chunk's sequence chunk, its memory") {
  int cases = 0;
  sweep_chunks({0}, [&](looped_setting x) {
    for (int q = 1; q <= 5; ++q) {
      CAPTURE(q);
      x.s.sequence_chunks = q;
      tick const together = (x.p + q - 1) / q, g = together * q, units = x.m * q;
      diagnosis const d = catalog::find("seq1f1b-interleaved")->check(x.s);
      CHECK(d.ok() == (x.v >= 2 && x.m % together == 0));
      if (!d.ok()) continue;
      schedule const s = x("seq1f1b-interleaved");
      CHECK(s.micro_batch_count() == units);
      CHECK(makespan(s) == (units * x.v + x.p - 1) * (x.f + x.b));
      peaks_are(s,
                [&](int dev) { return std::min(units * x.v, (x.v - 1) * g + 2 * (x.p - 1 - dev) + q); });
      ++cases;
    }
  });
  CHECK(cases > 1000);
}

// As the code of Seq1F1B (schedules.py, sp_utils.py) pairs its turns: 2 devices, 2 chunks, 2 sequences
// in 2 sequence chunks, a warm-up of 2 + 2 + 1 and of 2 + 1.
TEST_CASE("interleaved Seq1F1B: the order of a small case") {
  catalog::shape s{devices{2}, micro_batches{2}};
  schedule const made = catalog::find("seq1f1b-interleaved")->make(s);
  std::vector<std::vector<pass>> found;
  for (auto const& order : made.order) {
    found.emplace_back();
    for (time_slot const& t : order) found.back().push_back(t.what);
  }
  pass_kind constexpr F = pass_kind::forward, B = pass_kind::backward;
  CHECK(found
        == std::vector<std::vector<pass>>{{{F, 0, 0},
                                           {F, 0, 1},
                                           {F, 2, 0},
                                           {F, 2, 1},
                                           {F, 0, 2},
                                           {F, 0, 3},
                                           {B, 2, 1},
                                           {F, 2, 2},
                                           {B, 2, 0},
                                           {F, 2, 3},
                                           {B, 0, 1},
                                           {B, 0, 0},
                                           {B, 2, 3},
                                           {B, 2, 2},
                                           {B, 0, 3},
                                           {B, 0, 2}},
                                          {{F, 1, 0},
                                           {F, 1, 1},
                                           {F, 3, 0},
                                           {F, 3, 1},
                                           {B, 3, 1},
                                           {F, 1, 2},
                                           {B, 3, 0},
                                           {F, 1, 3},
                                           {B, 1, 1},
                                           {F, 3, 2},
                                           {B, 1, 0},
                                           {F, 3, 3},
                                           {B, 3, 3},
                                           {B, 3, 2},
                                           {B, 1, 3},
                                           {B, 1, 2}}});
}

// Public scheduler's results for 2 p, 4 p ... sequences: ticks of forward, input, weight pass and hop.
TEST_CASE("Seq1F1B is no longer than what other schedulers make") {
  struct known {
    int p, m, q;
    stage_cost c;
    tick hop, makespan;
  };
  stage_cost const even{10, 13, 7}, uneven{100, 104, 94};
  for (known const& k : {known{2, 2, 2, even, 1, 154},
                         {2, 8, 4, even, 1, 1020},
                         {3, 3, 2, even, 1, 248},
                         {3, 12, 4, even, 1, 1562},
                         {4, 4, 2, even, 1, 344},
                         {4, 16, 4, even, 1, 2106},
                         {2, 2, 4, uneven, 7, 2724},
                         {2, 8, 2, uneven, 7, 5178},
                         {3, 6, 2, uneven, 7, 4284},
                         {3, 12, 4, uneven, 7, 15334},
                         {4, 8, 4, uneven, 7, 10766},
                         {4, 16, 2, uneven, 7, 10780}}) {
    CAPTURE(k.p);
    CAPTURE(k.m);
    CAPTURE(k.q);
    catalog::shape s{devices{k.p}, micro_batches{k.m}, costs(k.c, k.hop)};
    s.sequence_chunks = k.q;
    CHECK(makespan(catalog::find("seq1f1b")->make(s)) <= k.makespan);
    CHECK(span(catalog::find("seq1f1b")->make(s)) <= k.makespan);
  }
}

}  // namespace
