// Formulas of the papers for their schedules, in p devices, m micro-batches, the ticks f, b = i + w of
// forward and backward and L of a transfer; swept over many of each.
#include "gold/peaks_are.hpp"
#include <ashlar/block/measures.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>
#include <vector>

using namespace ashlar;

namespace {

struct setting {
  int p, m;
  stage_cost c;
  tick L;

  tick f() const { return c.forward; }
  tick b() const { return c.backward_input + c.backward_weight; }
  schedule operator()(std::string_view name) const {
    return catalog::find(name)->make({devices{p}, micro_batches{m}, costs(c, L)});
  }
};

template <class Look>
void sweep(std::vector<stage_cost> const& costs_to_try, std::vector<tick> const& transfers, Look look) {
  for (stage_cost const& c : costs_to_try)
    for (tick L : transfers)
      for (int p = 1; p <= 16; p += p < 5 ? 1 : 3)
        for (int m = 1; m <= 48; m += m < 9 ? 1 : 5) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(L);
          CAPTURE(c.forward);
          CAPTURE(c.backward_input);
          CAPTURE(c.backward_weight);
          look(setting{p, m, c, L});
        }
}

std::vector<stage_cost> const some_costs{{1, 1, 1}, {2, 1, 1}, {1, 3, 2}, {7, 5, 3}, {10, 1, 1}};
std::vector<tick> const some_transfers{0, 1, 2, 7, 50};

TEST_CASE("GPipe: bubble (p-1)(f+b), two transfers a hop, all m held") {
  sweep(some_costs, some_transfers, [](setting const& x) {
    schedule const s = x("gpipe");
    CHECK(makespan(s) == (x.m + x.p - 1) * (x.f() + x.b()) + 2 * (x.p - 1) * x.L);
    peaks_are(s, [&](int) { return x.m; });
  });
}

// Every p micro-batches wait once for a round trip of 2(p-1) transfers; holds for all costs and all L.
TEST_CASE("1F1B: bubble (p-1)(f+b), 2(p-1) + 2 floor((m-1)(p-1)/p) transfers, min(m, p-d) held") {
  sweep(some_costs, some_transfers, [](setting const& x) {
    schedule const s = x("1f1b");
    tick const transfers = 2 * (x.p - 1) + 2 * ((x.m - 1) * (x.p - 1) / x.p);
    CHECK(makespan(s) == (x.m + x.p - 1) * (x.f() + x.b()) + transfers * x.L);
    peaks_are(s, [&](int d) { return std::min(x.m, x.p - d); });
  });
}

TEST_CASE("eager 1F1B: hides transfers of up to half a forward and backward, min(m, 2(p-d)-1) held") {
  sweep(some_costs, some_transfers, [](setting const& x) {
    schedule const s = x("eager-1f1b");
    tick const all_hidden = (x.m + x.p - 1) * (x.f() + x.b()) + 2 * (x.p - 1) * x.L;
    tick const plain = makespan(x("1f1b"));
    if (2 * x.L <= x.f() + x.b()) CHECK(makespan(s) == all_hidden);
    if (x.L == 0) CHECK(makespan(s) == plain);
    CHECK(makespan(s) <= plain);
    bool const helps = x.L > 0 && x.p > 1 && x.m > 2;
    CHECK((makespan(s) < plain) == helps);
    peaks_are(s, [&](int d) { return std::min(x.m, 2 * (x.p - d) - 1); });
  });
}

TEST_CASE("ZB-H1: bubble (p-1)(f+i-w) for m >= p and w <= min(f, i), min(m, p) held") {
  std::vector<stage_cost> all;
  for (tick f = 1; f <= 3; ++f)
    for (tick i = 1; i <= 3; ++i)
      for (tick w = 1; w <= 3; ++w) all.push_back({f, i, w});
  sweep(all, {0}, [](setting const& x) {
    schedule const s = x("zb-h1");
    tick const i = x.c.backward_input, w = x.c.backward_weight;
    tick const zero_bubble = x.m * (x.f() + x.b()) + (x.p - 1) * (x.f() + i - w);
    if (x.m >= x.p && w <= x.f() && w <= i)
      CHECK(makespan(s) == zero_bubble);
    else
      CHECK(makespan(s) >= zero_bubble);  // the last weight passes come too late to fill the bubble
    peaks_are(s, [&](int) { return std::min(x.m, x.p); });
  });
}

TEST_CASE("ZB-H1 is never longer than 1F1B without transfers") {
  sweep({{1, 1, 1}, {2, 2, 2}, {3, 2, 1}}, {0},
        [](setting const& x) { CHECK(makespan(x("zb-h1")) <= makespan(x("1f1b"))); });
}

TEST_CASE("V-Half: no collisions, two floor((p+2)/2) held, no bubble that repeats") {
  for (int p = 1; p <= 64; ++p) {
    CAPTURE(p);
    block const b = catalog::v_half(devices{p});
    CHECK(check(b).ok());
    int const half = 2 * ((p + 2) / 2);
    for (int d = 0; d < p; ++d) {
      // The two stages of a device live no longer together than `half` intervals.
      CHECK(lifespan(b, stage_id{d}) + lifespan(b, stage_id{2 * p - 1 - d}) <= 6 * half);
      CHECK(activation_bound(b, device_id{d}) <= half);
    }
    if (p > 24 && p % 8 != 0) continue;
    auto const made = [&](int m) {
      return catalog::v_half(devices{p}) | repeat(micro_batches{m}) | squeeze();
    };
    schedule const s = made(3 * p), longer = made(3 * p + 1);
    CHECK(check(s).ok());
    std::vector<int> const peaks = peak_activations(s);
    CHECK(*std::max_element(peaks.begin(), peaks.end()) == half);
    CHECK(makespan(longer) - makespan(s) == 6);
    CHECK(makespan(s) - 6 * 3 * p == (p % 2 == 0 ? 7 * p / 2 - 2 : 7 * (p - 1) / 2));
  }
}

TEST_CASE("V-Half holds half of what 1F1B holds on its first device, in chunks half as large") {
  for (int p = 8; p <= 32; p *= 2) {
    micro_batches const m{3 * p};
    auto const half = peak_activations(catalog::find("v-half")->make({devices{p}, m}));
    auto const full = peak_activations(catalog::find("1f1b")->make({devices{p}, m}));
    CHECK(*std::max_element(half.begin(), half.end())
          == full[0] + 2);  // chunks of half a device's stage
  }
}

}  // namespace
