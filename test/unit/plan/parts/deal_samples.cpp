#include <ashlar/plan/parts/deal_samples.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"
#include <ashlar/core/splitmix.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

using namespace ashlar;

namespace {

sequence_cost const half_attention{.tokens = 100, .whole = {100, 200, 100}, .attention = {50, 50}};

double time_of(sequence_cost const& c, std::vector<int> const& lengths) {
  stage_cost const sum = c.of(lengths);
  return static_cast<double>(sum.forward + sum.backward_input + sum.backward_weight);
}

// Every deal, sample by sample; the number of the last empty micro-batch only once.
double best_deal(std::vector<int> const& tokens, sequence_cost const& c, int m, std::int64_t most) {
  std::vector<std::vector<int>> dealt(static_cast<std::size_t>(m));
  double best = 1e18;
  std::function<void(std::size_t)> const next = [&](std::size_t i) {
    if (i == tokens.size()) {
      double longest = 0;
      for (auto const& own : dealt) {
        if (own.empty()) return;
        longest = std::max(longest, time_of(c, own));
      }
      best = std::min(best, longest);
      return;
    }
    for (auto& own : dealt) {
      std::int64_t held = tokens[i];
      for (int const t : own) held += t;
      if (held <= most) {
        own.push_back(tokens[i]);
        next(i + 1);
        own.pop_back();
      }
      if (own.empty()) return;
    }
  };
  next(0);
  return best;
}

TEST_CASE("deal: attention grows with the square, all else with the length") {
  CHECK(half_attention.of({100}) == stage_cost{100, 200, 100});
  CHECK(half_attention.of({200}) == stage_cost{100 + 200, 200 + 400, 200});
  CHECK(half_attention.of({50, 50}) == stage_cost{50 + 25, 100 + 50, 100});
}

TEST_CASE("deal: each sample once, no micro-batch empty, within the limit, near the best of all deals") {
  int exact = 0, cases = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::uint64_t state = seed * 977;
    auto const below = [&](int n) {
      state += splitmix_step;
      return static_cast<int>(mixed(state) % static_cast<std::uint64_t>(n));
    };
    int const m = 2 + below(2);
    std::vector<int> tokens;
    for (int i = 0, n = m + below(6); i < n; ++i)
      tokens.push_back(below(4) == 0 ? 100 + below(400) : 1 + below(60));
    std::int64_t sum = 0;
    for (int const t : tokens) sum += t;
    int const longest = *std::max_element(tokens.begin(), tokens.end());
    std::int64_t const most =
        seed % 2 == 0 ? sum : std::max<std::int64_t>(longest, sum / m + longest / 2);
    CAPTURE(seed);
    dealt_samples const d = deal_samples(tokens, half_attention, micro_batches{m}, most);
    REQUIRE(d.micro_batches.size() == static_cast<std::size_t>(m));
    std::vector<int> seen(tokens.size(), 0);
    for (auto const& own : d.micro_batches) {
      CHECK(!own.empty());
      std::int64_t held = 0;
      for (int const sample : own) {
        ++seen[static_cast<std::size_t>(sample)];
        held += tokens[static_cast<std::size_t>(sample)];
      }
      CHECK(held <= most);
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(tokens.size()));
    double const best = best_deal(tokens, half_attention, m, most);
    CHECK(d.least <= best + 1e-6);
    CHECK(d.longest <= best * 4 / 3);
    exact += d.longest <= best + 3;  // each pass is rounded up there
    ++cases;
    CHECK(d.costs_of(tokens, half_attention).micro_batches() == m);
  }
  CHECK(10 * exact >= 9 * cases);
}

// If tokens alone counted, one micro-batch would have the long sequence and the other all short ones.
TEST_CASE("deal: micro-batches of equal time, not of equal tokens") {
  std::vector<int> tokens{400};
  for (int i = 0; i < 40; ++i) tokens.push_back(10);
  dealt_samples const d = deal_samples(tokens, half_attention, micro_batches{2});
  auto const of_long = std::find_if(d.micro_batches.begin(), d.micro_batches.end(),
                                    [](auto const& own) { return own.front() == 0; });
  CHECK(of_long->size() == 1);
  CHECK(d.longest == d.least);
}

TEST_CASE("deal: as many micro-batches as there may be, with and without a limit") {
  std::vector<int> tokens;
  for (int i = 0; i < 150'000; ++i) tokens.push_back(1 + i % 7);
  sequence_cost const flat{.tokens = 1, .whole = {1, 1, 1}};
  for (std::int64_t const most : {max_tick, std::int64_t{8}, std::int64_t{7}}) {
    dealt_samples const d = deal_samples(tokens, flat, micro_batches{100'000}, most);
    CHECK(d.micro_batches.size() == 100'000);
    std::size_t dealt = 0;
    for (std::vector<int> const& own : d.micro_batches) {
      dealt += own.size();
      CHECK_FALSE(own.empty());
    }
    CHECK(dealt == tokens.size());
    CHECK(d.longest <= 3 * 8);
  }
}

// Longest first has 5 and 4 beside 5 and 3, and no room for another 3.
TEST_CASE("deal: a limit without slack, and what cannot be") {
  sequence_cost const flat{.tokens = 1, .whole = {1, 1, 1}};
  dealt_samples const d = deal_samples({5, 5, 4, 3, 3}, flat, micro_batches{2}, 10);
  CHECK(d.longest == 30);
  CHECK_BREAKS(memory_is_within_budget, deal_samples({11, 1}, flat, micro_batches{2}, 10));
  CHECK_BREAKS(memory_is_within_budget, deal_samples({6, 6, 6}, flat, micro_batches{2}, 10));
  CHECK_BREAKS(counts_are_positive, deal_samples({1}, flat, micro_batches{2}));
  CHECK_BREAKS(counts_are_positive, deal_samples({1, 0}, flat, micro_batches{2}));
  CHECK_BREAKS(counts_are_positive, deal_samples({1}, flat, micro_batches{0}));
  CHECK_BREAKS(counts_are_positive, flat.of({3, -2'000'000'000}));
  CHECK_BREAKS(sizes_fit, deal_samples({1}, {.attention = {101, 0}}, micro_batches{1}));
  CHECK_BREAKS(no_duration_is_negative, deal_samples({1}, {.whole = {-1, 1, 1}}, micro_batches{1}));
}

}  // namespace
