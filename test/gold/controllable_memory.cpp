// The table of Controllable Memory (Qi, Wan, Amar, Lin, 2024): peak memory as a share of 1F1B's and the
// bubble of a whole step, for passes of equal length. The authors give memory p, (p + 4) div 3, (p + 2)
// div 2, p micro-batches for 1F1B, V-Min, V-Half and V-ZB, hence 1, 1/3, 1/2, 1; and bubble rates by
// span of about p / m, 2 p / 3 m, p / 2 m, 0, hence 6 p, 4 p, 3 p, 0 passes of a chunk. Here these are
// exact, with what a p that is not large adds.
#include <ashlar/study/compare.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace ashlar;

namespace {

// Figures are in passes of a chunk, half a device's share of the model; so 1F1B holds 2 p of them.
struct table_row {
  char const* name;
  int (*peak)(int p);
  tick (*squeezed)(tick p);   // the block repeated and squeezed: idle time within the makespan
  tick (*reordered)(tick p);  // the finished schedule: idle time within the span
  double memory, bubble;      // of 2 p activations and of p passes, for large p
};

// The least idle time of a schedule for peak M: 6 p - 1 - 3 M, or nothing.
constexpr tick least_idle(tick p, tick peak) { return std::max<tick>(0, 6 * p - 1 - 3 * peak); }
constexpr int v_min_peak(int p) { return 2 * ((p + 4) / 3); }
constexpr int v_half_peak(int p) { return 2 * ((p + 2) / 2); }

table_row const table[] = {
    {"1f1b", [](int p) { return 2 * p; }, [](tick p) { return 6 * (p - 1); },
     [](tick p) { return 6 * (p - 1); }, 1, 6},
    {"zb-h1", [](int p) { return 2 * p; }, [](tick p) { return 2 * (p - 1); },
     [](tick p) { return 2 * (p - 1); }, 1, 2},
    {"zb-h2", [](int p) { return 2 * (2 * p - 1); }, [](tick p) { return 2 * (p - 1); },
     [](tick) { return tick{0}; }, 2, 0},
    {"v-min", v_min_peak, [](tick p) { return 4 * p - (p % 3 == 0 ? 3 : 5); },
     [](tick p) { return least_idle(p, v_min_peak(static_cast<int>(p))) + (p % 3 == 2 ? 4 : 0); },
     1. / 3, 4},
    {"v-half", v_half_peak, [](tick p) { return p % 2 == 0 ? 7 * p / 2 - 2 : 7 * (p - 1) / 2; },
     [](tick p) { return least_idle(p, v_half_peak(static_cast<int>(p))); }, 1. / 2, 3},
    {"v-zb", [](int p) { return 2 * p; }, [](tick p) { return 2 * p - 3; }, [](tick) { return tick{0}; },
     1, 0},
};

struct measured {
  int peak;
  tick in_makespan, in_span;
};

// The catalog's schedule, or the same block only squeezed.
enum class state { squeezed, finished };

measured measure(char const* name, int p, state how) {
  catalog::entry e = *catalog::find(name);
  if (how == state::squeezed) e.schedule_of = nullptr;
  int const m = 4 * p;
  comparison const c = compare(e, {.p = devices{p}, .m = micro_batches{m}});
  double const work = 3. * m, most = *std::max_element(c.peaks.begin(), c.peaks.end());
  auto const whole = [](double value) { return static_cast<tick>(value + (value < 0 ? -0.5 : 0.5)); };
  return {static_cast<int>(whole(most * 2 * p)), whole(2 * (c.makespan - work)),
          whole(2 * (c.span - work))};
}

TEST_CASE("Controllable Memory's table: the blocks, repeated and squeezed") {
  for (table_row const& row : table)
    for (int p = 2; p <= 24; ++p) {
      CAPTURE(row.name);
      CAPTURE(p);
      measured const found = measure(row.name, p, state::squeezed);
      CHECK(found.peak == row.peak(p));
      CHECK(found.in_makespan == row.squeezed(p));
    }
}

// Reordering within the block's memory takes the idle time down to what no schedule can do without, but
// for V-Min where p = 2 modulo 3.
TEST_CASE("Controllable Memory's table: the finished schedules") {
  for (table_row const& row : table)
    for (int p = 3; p <= 24; ++p) {
      CAPTURE(row.name);
      CAPTURE(p);
      measured const found = measure(row.name, p, state::finished);
      CHECK(found.peak == row.peak(p));
      CHECK(found.in_span == row.reordered(p));
    }
}

TEST_CASE("Controllable Memory's table: what is left of it for many devices") {
  for (table_row const& row : table)
    for (int p : {100, 1'000, 10'000}) {
      CAPTURE(row.name);
      CAPTURE(p);
      CHECK(row.peak(p) / (2. * p) == doctest::Approx(row.memory).epsilon(4. / p));
      CHECK(static_cast<double>(row.reordered(p)) / p
            == doctest::Approx(row.bubble).scale(1).epsilon(9. / p));
    }
}

}  // namespace
