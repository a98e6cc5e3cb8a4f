// Measures how near to the best the search comes, and what it costs.
//
// Prints Markdown: the workloads of test/known_bubbles.hpp with rates that are proved, found with
// several seeds, known to be reached and published; then how time, bubble and gap grow with devices and
// micro-batches. Rates are 1 - busiest work / span, in percent.
//
// usage: bench_search_table [passes of a search, 60000000] [seeds, 3] [cases | scaling]
#include "../../test/known_bubbles.hpp"
#include "../processor_time.hpp"
#include <ashlar/optimize/improve.hpp>
#include <ashlar/search/search.hpp>
#include <ashlar/search/seeds.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

using namespace ashlar;
using known_bubbles::known;

struct measured {
  search_result found;
  double seconds;  // of processor time
};

// The best and the worst of searches that differ in their seeds alone: 1, 2, ... The best has the time
// and the evaluations of all.
struct several {
  measured best, worst;
};

measured measure(known const& k, search_budget e) {
  measured m{};
  m.seconds = bench::processor_seconds([&] {
    m.found = search({.where = k.where(),
                      .m = micro_batches{k.m},
                      .cost = k.all_costs(),
                      .limit = chunk_activations(k.limit)},
                     e);
  });
  return m;
}

several measure(known const& k, search_budget e, int seeds) {
  e.seed = 1;
  measured const first = measure(k, e);
  several all{first, first};
  double seconds = first.seconds;
  std::int64_t evaluations = first.found.evaluations;
  while (static_cast<int>(e.seed) < seeds && all.best.found.reached > all.best.found.least.span) {
    ++e.seed;
    measured const next = measure(k, e);
    seconds += next.seconds;
    evaluations += next.found.evaluations;
    if (next.found.reached < all.best.found.reached) all.best = next;
    if (next.found.reached > all.worst.found.reached) all.worst = next;
  }
  all.best.seconds = seconds;
  all.best.found.evaluations = evaluations;
  return all;
}

// The best rate of the catalog's schedules that fit.
double best_listed(known const& k) {
  double best = known_bubbles::nothing;
  for (published_schedule const& s : published_on(k.where(), micro_batches{k.m}, k.all_costs()))
    if (is_within(s.made, chunk_activations(k.limit))) best = std::min(best, k.rate(span(s.made)));
  return best;
}

std::string percent(double rate) {
  if (rate >= known_bubbles::nothing) return "none";
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", 100 * rate);
  return text;
}

char const* verdict(double ours, double reached) {
  if (ours < reached - known_bubbles::rounding) return "better";
  return ours <= reached + known_bubbles::rounding ? "equal" : "missed";
}

void print_cases(search_budget e, int seeds) {
  std::puts(
      "| costs | p | chunks | m | limit | bound | ours | worst seed | known | | catalog | public | s | "
      "schedules |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|");
  int counts[3] = {0, 0, 0};
  for (known const& k : known_bubbles::table) {
    auto const [best, worst] = measure(k, e, seeds);
    search_result const& found = best.found;
    double const ours = k.rate(found.reached);
    char const* const how = verdict(ours, k.reached);
    ++counts[*how == 'b' ? 0 : *how == 'e' ? 1 : 2];
    std::printf(
        "| %d, %d, %d; %d%s | %d | %d | %d | %d | %s | %s | %s | %s | %s%s | %s | %s | %.1f | %lld |\n",
        static_cast<int>(k.cost[0]), static_cast<int>(k.cost[1]), static_cast<int>(k.cost[2]),
        static_cast<int>(k.cost[3]), k.of == known_bubbles::model::uniform ? "" : ", last stage × 1.5",
        k.p, k.chunks_of_a_device, k.m, k.limit, percent(k.rate(found.least.span)).c_str(),
        percent(ours).c_str(), percent(k.rate(worst.found.reached)).c_str(), percent(k.reached).c_str(),
        how, found.reached == found.least.span ? ", proved" : "", percent(best_listed(k)).c_str(),
        percent(k.published).c_str(), best.seconds, static_cast<long long>(found.evaluations));
    std::fflush(stdout);
  }
  std::printf("\nBetter than known: %d, equal: %d, missed: %d.\n", counts[0], counts[1], counts[2]);
}

// Prints results on a V under half of 1F1B's memory.
void print_scaling(search_budget e) {
  std::puts(
      "\n| p | m | passes | s a million passes | bubble | bound | gap |\n"
      "|---:|---:|---:|---:|---:|---:|---:|");
  auto const row = [&](int p, int m) {
    known const k{{10, 13, 7, 1}, p, 2, m, p, 0, 0, 0};
    auto const [found, seconds] = measure(k, e);
    std::printf("| %d | %d | %d | %.3f | %s | %s | %.2f %% |\n", p, m, 6 * p * m,
                seconds / static_cast<double>(std::max<std::int64_t>(found.passes, 1)) * 1e6,
                percent(k.rate(found.reached)).c_str(), percent(k.rate(found.least.span)).c_str(),
                100 * gap(found.reached, found.least.span));
    std::fflush(stdout);
  };
  for (int p : {4, 8, 16, 32}) row(p, 4 * p);
  for (int factor : {1, 2, 8}) row(8, 8 * factor);
}

}  // namespace

int main(int argc, char** argv) {
  std::string const which = argc > 3 ? argv[3] : "";
  search_budget const e{.passes = argc > 1 ? std::atoll(argv[1]) : 60'000'000, .aim = objective::span};
  int const seeds = argc > 2 ? std::atoi(argv[2]) : 3;
  if (e.passes < 1 || seeds < 1 || (which != "" && which != "cases" && which != "scaling")) {
    std::fputs("usage: bench_search_table [passes of a search] [seeds] [cases | scaling]\n", stderr);
    return 2;
  }
  if (which != "scaling") print_cases(e, seeds);
  if (which != "cases") print_scaling(e);
}
