// Formulas for how long before the end a stage's gradient is complete, in p devices, m micro-batches,
// the chunk c and device d of the stage, and the ticks f, b = i + w of forward and backward; transfers
// take none. Formulas for other schedules are in closed_forms_bidirectional.cpp.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/transfer_events.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

// Ticks from the last weight pass of any replica of a stage to the end, by stage.
std::vector<tick> ready_before_end(schedule const& s) {
  std::vector<tick> ready(static_cast<std::size_t>(s.stage_count()), max_tick);
  for (int d = 0; d < s.device_count(); ++d)
    for (timed_pass const t : each_pass(s.order[static_cast<std::size_t>(d)]))
      if (gives_weight_gradient(t.what.kind)) {
        tick& r = ready[static_cast<std::size_t>(t.what.stage)];
        r = std::min(r, makespan(s) - s.end_of(t, d));
      }
  // Lowering reduces by these times.
  for (event const& e : events_in_order(s))
    if (e.is_reduction()) CHECK(makespan(s) - e.time == ready[static_cast<std::size_t>(e.group)]);
  return ready;
}

struct ready_setting {
  catalog::shape s;
  tick p, m, v, f, b, i, w;
  bool squeezed_only = false;  // the block repeated and squeezed, not reordered

  // Checks that each stage of `names` is as before_end(chunk, device) says, stage = chunk * p + device.
  template <class BeforeEnd>
  void expect(std::initializer_list<char const*> names, BeforeEnd before_end) const {
    for (char const* name : names) {
      CAPTURE(std::string(name));
      catalog::entry e = *catalog::find(name);
      if (squeezed_only) e.schedule_of = nullptr;
      REQUIRE(e.check(s).ok());
      schedule const made = e.make(s);
      std::vector<tick> const ready = ready_before_end(made);
      int const devices_here = made.device_count();
      for (int stage = 0; stage < made.stage_count(); ++stage) {
        CAPTURE(stage);
        tick const wanted = before_end(stage / devices_here, stage % devices_here);
        if (wanted >= 0) CHECK(ready[static_cast<std::size_t>(stage)] == wanted);
      }
    }
  }
};
constexpr tick not_known = -1;

template <class Look>
void sweep_shapes(int most_chunks, Look look) {
  for (stage_cost const& c :
       {stage_cost{1, 1, 1}, {2, 1, 1}, {1, 3, 2}, {7, 5, 3}, {10, 1, 1}, {3, 3, 2}})
    for (int p : {1, 2, 3, 4, 6})
      for (int m : {1, 2, 3, 4, 6, 8, 9, 12, 18})
        for (int v = 1; v <= most_chunks; ++v) {
          ready_setting x{{devices{p}, micro_batches{m}, costs(c, 0)},
                          p,
                          m,
                          v,
                          c.forward,
                          c.backward_input + c.backward_weight,
                          c.backward_input,
                          c.backward_weight};
          x.s.v = chunks{v};
          x.s.w = waves{v};
          x.s.sequence_chunks = v;
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(v);
          CAPTURE(x.f);
          CAPTURE(x.i);
          CAPTURE(x.w);
          look(x);
        }
}

TEST_CASE("fused backwards, one way: stage s is through s b before the end") {
  sweep_shapes(3, [](ready_setting x) {
    auto const in_turn = [&](int c, int d) { return (c * x.p + d) * x.b; };
    x.expect({"gpipe", "1f1b", "eager-1f1b", "1f1b-recompute", "seq1f1b"}, in_turn);
    x.squeezed_only = true;
    if (x.m >= 2 * x.p) x.expect({"1f1b-v"}, [&](int c, int d) { return c == 0 ? d * x.b : not_known; });
  });
}

TEST_CASE("Hanayo, m > p: the same within a wave, and 2 m b for each wave before") {
  sweep_shapes(3, [](ready_setting const& x) {
    if (x.m <= x.p) return;
    x.expect({"hanayo"}, [&](int c, int d) { return (c / 2 * 2 * x.m + c % 2 * x.p + d) * x.b; });
  });
}

TEST_CASE("breadth-first: c m b + d b, in r rounds c (m / r) b + d b") {
  sweep_shapes(4, [](ready_setting x) {
    if (x.m >= x.p)
      x.expect({"breadth-first", "looped-bfs"}, [&](int c, int d) { return (c * x.m + d) * x.b; });
    x.expect({"breadth-first-accumulation"}, [&](int c, int) { return c * x.m * x.b; });
    for (int r = 1; r <= x.m; ++r) {
      if (x.m % r != 0 || x.m / r < x.p) continue;
      CAPTURE(r);
      x.s.rounds = r;
      x.expect({"breadth-first-hybrid"}, [&](int c, int d) { return (c * x.m / r + d) * x.b; });
    }
  });
}

TEST_CASE("depth-first in groups of g: c g b + d b, g = p unless said otherwise") {
  sweep_shapes(4, [](ready_setting x) {
    x.expect({"depth-first-accumulation"}, [&](int c, int) { return c * x.b; });
    if (x.v == 1) return;
    for (tick g = x.p; g <= x.m; ++g) {
      if (x.m % g != 0) continue;
      CAPTURE(g);
      x.s.group = static_cast<int>(g);
      x.expect({"depth-first"}, [&](int c, int d) { return (c * g + d) * x.b; });
    }
  });
}

TEST_CASE("split backwards with w <= f, i: weight passes make up for the way back") {
  sweep_shapes(4, [](ready_setting const& x) {
    if (x.w > x.f || x.w > x.i || x.m < x.p) return;
    if (x.v == 1) x.expect({"zb-h1"}, [&](int, int d) { return d * (x.i - x.w); });
    if (x.m % x.p != 0) return;
    x.expect({"interleaved-zb"},
             [&](int c, int d) { return c == 0 ? d * (x.i - x.w) : c * x.p * x.b - d * x.w; });
    x.expect({"grouped-interleaved"}, [&](int c, int d) { return c * x.p * x.b + d * x.i; });
  });
}

TEST_CASE("V-Half's block: the first chunk follows itself back, an input pass a device") {
  sweep_shapes(1, [](ready_setting x) {
    x.squeezed_only = true;
    if (x.m >= x.p) x.expect({"v-half"}, [&](int c, int d) { return c == 0 ? d * x.i : not_known; });
  });
}

TEST_CASE("DualPipe and DualPipeV: the first half in steps of i - w") {
  sweep_shapes(1, [](ready_setting x) {
    if (x.m < 2 * x.p || x.w > x.i || x.f != x.i) return;
    x.expect({"dualpipev"}, [&](int c, int d) { return c == 0 ? d * (x.i - x.w) : not_known; });
    if (x.p % 2 == 0 && x.m % 2 == 0)
      x.expect({"dualpipe"}, [&](int, int d) { return 2 * d < x.p ? d * (x.i - x.w) : not_known; });
  });
}

// The route of the last micro-batch is through s b before the end, the other one as much earlier as one
// micro-batch takes; only the later of the two can be reduced.
TEST_CASE("GEMS: s b on the last route, max(p b + f, p f + b) more on the other") {
  sweep_shapes(1, [](ready_setting const& x) {
    x.expect({"gems"}, [&](int, int d) { return d * x.b; });
    if (x.m == 1 || x.p == 1) return;
    schedule const s = catalog::find("gems")->make(x.s);
    int const other = s.route[static_cast<std::size_t>(x.m - 2)];
    for (int stage = 0; stage < s.stage_count(); ++stage) {
      tick last = 0;
      for (timed_pass const t :
           each_pass(s.order[static_cast<std::size_t>(s.where.device_of(other, stage))]))
        if (t.what.stage == stage && gives_weight_gradient(t.what.kind)
            && s.route[static_cast<std::size_t>(t.what.micro_batch)] == other)
          last = s.end_of(t, s.where.device_of(other, stage));
      CHECK(makespan(s) - last == stage * x.b + std::max(x.p * x.b + x.f, x.p * x.f + x.b));
    }
  });
}

// Published for two routes; over more, where f = b, it is the same.
TEST_CASE("Chimera over 2F routes with f = b: stage s is through s b before the end") {
  for (int p = 2; p <= 12; p += 2)
    for (int F = 1; 2 * F <= p; ++F)
      for (int k = 1; k <= 3; ++k) {
        if (p % (2 * F) != 0) continue;
        CAPTURE(p);
        CAPTURE(F);
        CAPTURE(k);
        ready_setting x{
            {devices{p}, micro_batches{k * p}, stage_cost{4, 1, 3}}, p, k * p, 1, 4, 4, 1, 3};
        x.s.routes = 2 * F;
        x.expect({"chimera"}, [&](int, int d) { return d * x.b; });
      }
}

}  // namespace
