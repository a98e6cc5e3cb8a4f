// Measures the gain of dealing sequences to micro-batches by their times, and of choosing their order.
//
// Prints Markdown: for each way to deal, how much longer the longest micro-batch takes than the mean,
// and by how much a step exceeds the work of a device, in percent, for 1F1B, ZB-H1 and Chimera, each
// with micro-batches as they are dealt and in the best order found; means of several draws. The last row
// is a lower bound for all orders of the last deal. 8 devices, 16 micro-batches, 8 samples in each on
// average. Lengths are log-normal from 32 to 8192 tokens, the median 768. A sequence of 4096 tokens
// takes 20, 26 and 14 thousand ticks; 30 % of its forward and 46 % of its input pass are attention.
//
// usage: bench_search_packing [draws, 8] [orders tried for each, 2000] [seed, 1]
#include <ashlar/catalog/entries.hpp>
#include <ashlar/plan/parts/deal_samples.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/search/micro_batch_order.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

using namespace ashlar;

namespace {

constexpr int p = 8, m = 16, samples = 256;
sequence_cost const of_4096{.tokens = 4096, .whole = {20'000, 26'000, 14'000}, .attention = {30, 46}};

using dealt = std::vector<std::vector<int>>;  // lengths, by micro-batch

tick total(stage_cost const& c) { return c.forward + c.backward_input + c.backward_weight; }

// Draws by Box and Muller: the same on every machine, up to rounding.
std::vector<int> lengths_of(std::mt19937_64& random) {
  std::vector<int> all;
  auto const uniform = [&] { return (static_cast<double>(random() >> 11U) + 0.5) * 0x1p-53; };
  for (int i = 0; i < samples; ++i) {
    double const normal = std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    all.push_back(static_cast<int>(std::clamp(768 * std::exp(normal), 32.0, 8192.0)));
  }
  return all;
}

dealt as_they_come(std::vector<int> const& lengths) {
  dealt all(m);
  for (std::size_t i = 0; i < lengths.size(); ++i) all[i * m / lengths.size()].push_back(lengths[i]);
  return all;
}

dealt by(std::vector<int> const& lengths, sequence_cost const& cost) {
  dealt all;
  for (auto const& own : deal_samples(lengths, cost, micro_batches{m}).micro_batches) {
    all.emplace_back();
    for (int const sample : own) all.back().push_back(lengths[static_cast<std::size_t>(sample)]);
  }
  return all;
}

// Consecutive samples in the order of their lengths, so that (p - 1) times the longest micro-batch and
// the sum of all is least: the dynamic program of DynaPipe, for exactly m micro-batches.
dealt sorted_and_cut(std::vector<int> lengths,
                     std::function<double(std::vector<int> const&)> const& time) {
  std::sort(lengths.begin(), lengths.end());
  std::size_t const n = lengths.size();
  std::vector<std::vector<double>> of(n, std::vector<double>(n + 1));
  std::vector<double> limits;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j <= n; ++j)
      limits.push_back(of[i][j] = time({lengths.begin() + static_cast<std::ptrdiff_t>(i),
                                        lengths.begin() + static_cast<std::ptrdiff_t>(j)}));
  std::sort(limits.begin(), limits.end());
  double best = INFINITY;
  dealt found;
  for (std::size_t l = 0; l < limits.size(); l += 37) {
    double const limit = limits[l];
    if ((p - 1) * limit >= best) break;
    std::vector<std::vector<double>> least(m + 1, std::vector<double>(n + 1, INFINITY));
    std::vector<std::vector<std::size_t>> from(m + 1, std::vector<std::size_t>(n + 1, 0));
    least[0][0] = 0;
    for (std::size_t k = 1; k <= m; ++k)
      for (std::size_t j = k; j <= n; ++j)
        for (std::size_t i = j; i-- > 0 && of[i][j] <= limit;)
          if (double const sum = least[k - 1][i] + of[i][j]; sum < least[k][j]) {
            least[k][j] = sum;
            from[k][j] = i;
          }
    if (least[m][n] + (p - 1) * limit >= best) continue;
    best = least[m][n] + (p - 1) * limit;
    found.assign(m, {});
    for (std::size_t k = m, j = n; k > 0; j = from[k][j], --k)
      found[k - 1].assign(lengths.begin() + static_cast<std::ptrdiff_t>(from[k][j]),
                          lengths.begin() + static_cast<std::ptrdiff_t>(j));
  }
  return found;
}

std::vector<int> padded(std::vector<int> const& own) {
  return std::vector<int>(own.size(), *std::max_element(own.begin(), own.end()));
}

struct row {
  char const* name;
  double longest = 0;
  std::vector<double> steps = std::vector<double>(6, 0);
};

}  // namespace

int main(int argc, char** argv) {
  int const draws = argc > 1 ? std::atoi(argv[1]) : 8;
  order_budget const budget{.evaluations = argc > 2 ? std::atoll(argv[2]) : 2'000,
                            .seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1};
  if (draws < 1 || budget.evaluations < 1) {
    std::fputs("usage: bench_search_packing [draws] [orders tried for each] [seed]\n", stderr);
    return 2;
  }
  std::vector<row> rows{{"as they come, 16 each"},
                        {"sorted and cut, padded"},
                        {"sorted and cut, packed"},
                        {"equal tokens, packed"},
                        {"equal times, packed"}};
  row least{"no order of equal times is below"};
  std::mt19937_64 random(budget.seed);
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<int> const lengths = lengths_of(random);
    auto const packed_time = [&](std::vector<int> const& own) {
      return static_cast<double>(total(of_4096.of(own)));
    };
    auto const padded_time = [&](std::vector<int> const& own) { return packed_time(padded(own)); };
    dealt of_rows[] = {as_they_come(lengths), sorted_and_cut(lengths, padded_time),
                       sorted_and_cut(lengths, packed_time),
                       by(lengths, {.tokens = 4096, .whole = {20'000, 26'000, 14'000}}),
                       by(lengths, of_4096)};
    for (std::vector<int>& own : of_rows[1]) own = padded(own);
    double const work = packed_time(lengths);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::vector<stage_cost> each;
      tick longest = 0;
      for (std::vector<int> const& own : of_rows[r]) {
        each.push_back(of_4096.of(own));
        longest = std::max(longest, total(each.back()));
      }
      rows[r].longest += static_cast<double>(longest) * m / work - 1;
      std::size_t column = 0;
      for (char const* const name : {"1f1b", "zb-h1", "chimera"}) {
        schedule const s =
            catalog::find(name)->make({.p = devices{p},
                                       .m = micro_batches{m},
                                       .cost = costs(pass_costs::by_stage_and_micro_batch(each, m))});
        ordered_micro_batches const found = order_micro_batches(s, budget);
        rows[r].steps[column++] += static_cast<double>(makespan(s)) / work - 1;
        rows[r].steps[column++] += static_cast<double>(found.reached) / work - 1;
        if (r + 1 == rows.size() && found.least)
          least.steps[column - 1] += static_cast<double>(*found.least) / work - 1;
      }
    }
  }
  std::puts("| deal | longest micro-batch | 1F1B | ordered | ZB-H1 | ordered | Chimera | ordered |");
  std::puts("|---|---:|---:|---:|---:|---:|---:|---:|");
  auto const mean = [&](double sum) { return 100 * sum / draws; };
  for (row const& r : rows) {
    std::printf("| %s | %+.1f %% |", r.name, mean(r.longest));
    for (std::size_t c = 0; c < 6; ++c) std::printf(" %.1f |", mean(r.steps[c]));
    std::puts("");
  }
  std::printf("| %s | |", least.name);
  for (std::size_t c = 0; c < 6; c += 2) std::printf(" | %.1f |", mean(least.steps[c + 1]));
  std::puts("");
  return 0;
}
