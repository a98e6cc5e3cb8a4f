// The building blocks of Controllable Memory: collisions, lifespans and peaks. The paper's table of
// bubble and memory is in controllable_memory.cpp.
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

struct family {
  char const* name;
  block (*of)(devices);
  int (*peak)(int p);  // chunk activations of the device that holds most
};

std::vector<family> const families{
    {"v-min", catalog::v_min, [](int p) { return 2 * ((p + 4) / 3); }},
    {"v-half", catalog::v_half, [](int p) { return 2 * ((p + 2) / 2); }},
    {"v-zb", catalog::v_zb, [](int p) { return 2 * p; }},
    {"1f1b-v", catalog::one_f_one_b_v, [](int p) { return 2 * ((2 * p + 3) / 3); }},
    {"zb-h1", catalog::zb_h1, [](int p) { return p; }},
    {"zb-h2", catalog::zb_h2, [](int p) { return 2 * p - 1; }},
};

int most(std::vector<int> const& peaks) { return *std::max_element(peaks.begin(), peaks.end()); }

schedule squeezed(family const& f, int p, int m) {
  return f.of(devices{p}) | repeat(micro_batches{m}) | squeeze();
}

TEST_CASE("no collisions for any p, and the closed form of the peak") {
  for (family const& f : families)
    for (int p = 1; p <= 64; ++p) {
      CAPTURE(f.name);
      CAPTURE(p);
      block const b = f.of(devices{p});
      CHECK(check(b).ok());
      int exact = 0, bound = 0;
      for (int d = 0; d < p; ++d) {
        CHECK(repeated_peak(b, device_id{d}) <= activation_bound(b, device_id{d}));
        exact = std::max(exact, repeated_peak(b, device_id{d}));
        bound = std::max(bound, activation_bound(b, device_id{d}));
      }
      CHECK(exact == f.peak(p));
      // Lifespans rounded up one by one: off by one for V-Min where p is 3, 4, 6, 7 ...
      bool const off = f.of == families[0].of && p > 1 && p % 3 != 2;
      CHECK(bound == exact + (off ? 1 : 0));
    }
}

TEST_CASE("the exact peak of a block is the peak of the schedule, device by device") {
  for (family const& f : families)
    for (int p = 1; p <= 20; p += p < 9 ? 1 : 4) {
      CAPTURE(f.name);
      CAPTURE(p);
      schedule const s = f.of(devices{p}) | repeat(micro_batches{4 * p});
      std::vector<int> const peaks = peak_activations(s);
      block const b = f.of(devices{p});
      for (int d = 0; d < p; ++d)
        CHECK(peaks[static_cast<std::size_t>(d)] == repeated_peak(b, device_id{d}));
      CHECK(most(peak_activations(squeeze(s))) == f.peak(p));
    }
}

// With equal pass times a micro-batch more costs its work.
TEST_CASE("every block repeats without a bubble") {
  for (family const& f : families)
    for (int p = 1; p <= 16; ++p) {
      CAPTURE(f.name);
      CAPTURE(p);
      schedule const s = squeezed(f, p, 3 * p), longer = squeezed(f, p, 3 * p + 1);
      CHECK(check(s).ok());
      CHECK(makespan(longer) - makespan(s) == busy(longer)[0] - busy(s)[0]);
    }
}

TEST_CASE("ZB-H2: bubble max(0, (p-1)(f+i-2w)) by span for m >= 2p") {
  for (int p = 1; p <= 10; ++p)
    for (tick w = 1; w <= 4; ++w) {
      CAPTURE(p);
      CAPTURE(w);
      costs const c(stage_cost{4, 4, w});
      schedule const s = catalog::find("zb-h2")->make({devices{p}, micro_batches{4 * p}, c});
      CHECK(span(s) - busy(s)[0] == (p - 1) * (8 - 2 * w));
      CHECK(most(peak_activations(s)) == 2 * p - 1);
    }
}

// The conditions that the paper states for V-Half, swept over costs.
TEST_CASE("V-Half repeats without a bubble where w + 2b >= 2f and w + 2f >= 2b") {
  for (int p : {4, 6, 8})
    for (tick f = 1; f <= 6; ++f)
      for (tick b = 1; b <= 6; ++b)
        for (tick w = 1; w <= 6; ++w) {
          CAPTURE(p);
          CAPTURE(f);
          CAPTURE(b);
          CAPTURE(w);
          costs const c(stage_cost{f, b, w});
          auto const made = [&](int m) {
            return catalog::v_half(devices{p}) | repeat(micro_batches{m}) | retime(c);
          };
          tick const period = (makespan(made(12 * p)) - makespan(made(8 * p))) / (4 * p);
          if (w + 2 * b >= 2 * f && w + 2 * f >= 2 * b) CHECK(period == 2 * (f + b + w));
        }
}

}  // namespace
