// Formulas for the schedules in two directions, in p devices, m micro-batches, k units of them and the
// ticks f, b = i + w of forward and backward; swept over many of each.
#include "gold/peaks_are.hpp"
#include "violations.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace ashlar;

namespace {

std::vector<stage_cost> small_costs() {
  std::vector<stage_cost> all{{10, 1, 1}, {7, 5, 3}, {3, 11, 9}};
  for (tick f = 1; f <= 4; ++f)
    for (tick i = 1; i <= 4; ++i)
      for (tick w = 1; w <= 3; ++w) all.push_back({f, i, w});
  return all;
}

schedule made(std::string_view name, catalog::shape const& s) { return catalog::find(name)->make(s); }

// Calls look(shape, f, b, k) for shapes of p = 2, 4, ... devices and k units of p * `per_device`
// micro-batches.
template <class Look>
void sweep_routes(int per_device, Look look) {
  for (stage_cost const& c : small_costs())
    for (int p = 2; p <= 12; p += 2)
      for (int k = 1; k <= 4; ++k) {
        catalog::shape const s{devices{p}, micro_batches{k * p * per_device}, c};
        CAPTURE(p);
        CAPTURE(k);
        CAPTURE(c.forward);
        CAPTURE(c.backward_input);
        CAPTURE(c.backward_weight);
        look(s, c.forward, c.backward_input + c.backward_weight, k);
      }
}

int to_end(int d, int p) { return std::min(d, p - 1 - d); }

// The idle ticks of every device, all of which do the same work.
tick bubble(schedule const& s) {
  std::vector<tick> const work = busy(s);
  CHECK(std::count(work.begin(), work.end(), work[0]) == s.device_count());
  return makespan(s) - work[0];
}

// Stage s is through on every replica s backwards before the end; later stages of uneven passes are
// through even before.
void gradients_come_in_turn(schedule const& s, tick f, tick b) {
  for (int stage = 0; stage < s.stage_count(); ++stage)
    for (int route = 0; route < s.where.route_count(); ++route) {
      tick last = 0;
      for (timed_pass const t :
           each_pass(s.order[static_cast<std::size_t>(s.where.device_of(route, stage))]))
        if (t.what.stage == stage && gives_weight_gradient(t.what.kind))
          last = s.end_of(t, s.where.device_of(route, stage));
      CHECK(last <= makespan(s) - stage * b);
      if (f == b || 2 * stage <= s.stage_count()) CHECK(last == makespan(s) - stage * b);
    }
}

// The forward of the next micro-batch goes behind the backward of one; the slower of the two sets the
// pace: T = p f + m p b + (m - 1) f for f <= b.
TEST_CASE("GEMS: T = p f + (m - 1) max(p b + f, p f + b) + p b, one held") {
  for (stage_cost const& c : small_costs())
    for (int p : {1, 2, 3, 4, 7, 8})
      for (int m : {1, 2, 3, 4, 5, 8, 13}) {
        CAPTURE(p);
        CAPTURE(m);
        schedule const s = made("gems", {devices{p}, micro_batches{m}, c});
        tick const f = c.forward, b = c.backward_input + c.backward_weight;
        CHECK(makespan(s) == p * f + (m - 1) * std::max(p * b + f, p * f + b) + p * b);
        CHECK(s.micro_batch_count() == m);
        peaks_are(s, [](int) { return 1; });
      }
}

TEST_CASE("GEMS: a micro-batch begins every 2 p + 1 passes") {
  for (int p : {1, 2, 3, 4, 7, 8}) {
    CHECK(catalog::gems(devices{p}).interval == 2 * (2 * p + 1));
    CHECK(makespan(catalog::gems(devices{p}, micro_batches{6})) == 5 * (2 * p + 1) + 3 * p);
  }
}

TEST_CASE("Chimera: bubble (p-2) max(f,b) + (k-1)(p-2) |b-f|, p/2 + 1 + dd held") {
  sweep_routes(1, [](catalog::shape const& x, tick f, tick b, int k) {
    schedule const s = made("chimera", x);
    int const p = x.p.value;
    CHECK(bubble(s) == (p - 2) * (std::max(f, b) + (k - 1) * std::abs(b - f)));
    peaks_are(s, [&](int d) { return p / 2 + 1 + to_end(d, p); });
    gradients_come_in_turn(s, f, b);
  });
}

TEST_CASE("BitPipe, either unit junction: Chimera's bubble in half-stages, 3p/2 + 1 + dd held") {
  sweep_routes(1, [](catalog::shape x, tick f, tick b, int k) {
    int const p = x.p.value;
    tick const idle = (p - 2) * (std::max(f, b) + (k - 1) * std::abs(b - f));
    schedule const s = made("bitpipe", x);
    CHECK(bubble(s) == idle);
    peaks_are(s, [&](int d) { return 3 * p / 2 + 1 + to_end(d, p); });
    gradients_come_in_turn(s, f, b);
    x.junction = catalog::unit_junction::figure;
    schedule const drawn = made("bitpipe", x);
    CHECK(bubble(drawn) == idle);
    // They differ only where units meet, and only in which comes first.
    CHECK((drawn == s) == (k == 1));
    gradients_come_in_turn(drawn, f, b);
  });
}

TEST_CASE("Chimera over 2F routes: bubble (p-2F)/F forwards where f = b, p - p/2F + 1 to p held") {
  for (int p = 2; p <= 24; p += 2)
    for (int F = 1; 2 * F <= p; ++F)
      for (int k = 1; k <= 3; ++k) {
        if (p % (2 * F) != 0) continue;
        CAPTURE(p);
        CAPTURE(F);
        catalog::shape x{devices{p}, micro_batches{k * p}, stage_cost{4, 1, 3}};
        x.routes = 2 * F;
        schedule const s = made("chimera", x);
        CHECK(s.where.route_count() == 2 * F);
        CHECK(bubble(s) == 4 * (p - 2 * F) / F);
        std::vector<int> const peaks = peak_activations(s);
        CHECK(*std::min_element(peaks.begin(), peaks.end()) == p - p / (2 * F) + 1);
        CHECK(*std::max_element(peaks.begin(), peaks.end()) == p);
      }
}

// The second term is what joining units costs: nothing for backwards one to two forwards long.
TEST_CASE("forward doubling: bubble (p-2)/2 (max(2f, f+b, 2(b-f)) + 2 (k-1) max(0, f-b, b-2f))") {
  sweep_routes(2, [](catalog::shape const& x, tick f, tick b, int k) {
    schedule const s = made("chimera-forward-doubling", x);
    int const p = x.p.value;
    CHECK(bubble(s)
          == (p - 2) / 2
                 * (std::max({2 * f, f + b, 2 * (b - f)})
                    + 2 * (k - 1) * std::max({tick{0}, f - b, b - 2 * f})));
    peaks_are(s, [&](int d) { return 3 * p / 2 + 1 + to_end(d, p); });
    gradients_come_in_turn(s, f, b);
    catalog::shape halves = x;
    halves.m.value /= 2;
    CHECK(made("chimera-backward-halving", halves) == s);
  });
}

TEST_CASE("DualPipe and DualPipeV: the middle is idle for (H-1)(FB+B-3w), 2H+1 held") {
  for (tick f = 1; f <= 3; ++f)
    for (tick w = 1; w <= f; ++w)
      for (tick more : {tick{0}, tick{1}, f, 2 * f, 2 * f + w}) {
        costs cost(stage_cost{f, f, w});
        tick const B = f + w, FB = std::max(f, B) + more;
        cost.passes.overlapped = FB;
        for (int half = 1; half <= 5; ++half)
          for (int count : {2 * half, 2 * half + 1, 3 * half, 5 * half}) {
            CAPTURE(f);
            CAPTURE(w);
            CAPTURE(FB);
            CAPTURE(half);
            CAPTURE(count);
            schedule const two = made("dualpipe", {devices{2 * half}, micro_batches{2 * count}, cost});
            schedule const v = made("dualpipev", {devices{half}, micro_batches{count}, cost});
            auto const middle = static_cast<std::size_t>(half - 1);
            CHECK(makespan(two) - busy(two)[middle] == (half - 1) * (FB + B - 3 * w));
            CHECK(makespan(v) == makespan(two));
            CHECK(busy(v)[middle] == busy(two)[middle]);
            peaks_are(two, [&](int) { return 2 * half + 1; });
            peaks_are(v, [&](int) { return 2 * half + 1; });
          }
      }
}

TEST_CASE("shapes that are refused, and the nearest that are not") {
  auto const refused = [](char const* name, int p, int m, int routes = 2) {
    catalog::shape s{devices{p}, micro_batches{m}};
    s.routes = routes;
    diagnosis const d = catalog::find(name)->check(s);
    CHECK_BREAKS(parameter_is_a_multiple, d.broken == rule::parameter_is_a_multiple
                                              ? (void)made(name, s)
                                              : throw violation{{.broken = rule::none}});
    return d;
  };
  for (char const* name :
       {"chimera", "chimera-forward-doubling", "chimera-backward-halving", "bitpipe", "dualpipe"}) {
    diagnosis const odd = refused(name, 3, 12);
    CHECK(odd.which == parameter::device_count);
    CHECK(odd.number == 2);
  }
  CHECK(refused("chimera", 4, 6).which == parameter::micro_batch_count);
  CHECK(refused("chimera", 4, 6).number == 4);
  CHECK(refused("chimera", 4, 2).given == 2);
  CHECK(refused("chimera", 6, 6, 4).which == parameter::device_count);
  CHECK(refused("chimera", 4, 4, 3).which == parameter::route_count);
  CHECK(refused("chimera-forward-doubling", 4, 12).number == 8);
  CHECK(refused("chimera-backward-halving", 4, 6).number == 4);
  CHECK(refused("bitpipe", 4, 7).number == 4);
  CHECK(refused("dualpipe", 4, 9).number == 2);
  catalog::shape few{devices{4}, micro_batches{6}};
  CHECK(catalog::find("dualpipe")->check(few).broken == rule::parameter_is_at_least);
  CHECK(catalog::find("dualpipe")->check(few).number == 8);
  CHECK(catalog::find("dualpipev")->check(few).number == 8);
  few.routes = 0;
  CHECK(catalog::find("chimera")->check(few).which == parameter::route_count);
  for (catalog::entry const& e : catalog::entries)
    for (int p : {1 << 30, (1 << 30) + 1, INT_MAX, INT_MAX - 1}) {
      catalog::shape const huge{devices{p}, micro_batches{INT_MAX}};
      (void)e.check(huge);  // with sanitizers: no overflow
    }
}

}  // namespace
