// Measures the gain of recomputing, and of cutting sequences, where memory is scarce.
//
// Prints Markdown: for each share of 1F1B's memory the least overhead of all layouts of a model (of the
// span, in percent), the least that the bound leaves, and the layout; or the least share that leaves a
// schedule. A recompute leaves 6 % of an activation, sequences come in up to 4 chunks.
//
// usage: bench_search_variants [passes of a cell, 60000000] [seed, 1]
#include "../processor_time.hpp"
#include <ashlar/search/layouts.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace ashlar;

constexpr char const* names[] = {"linear", "v", "looped", "wave"};

void print_cell(model_share const& model, int memory_percent, variety const& how, search_budget e) {
  std::vector<layout_choice> const layouts = layouts_for(model, memory_percent, how);
  if (layouts.empty()) {
    while (layouts_for(model, memory_percent, how).empty()) ++memory_percent;
    std::printf(" infeasible: needs %d |", memory_percent);
    return;
  }
  std::vector<searched_layout> const found = search_layouts(layouts, e);
  searched_layout const& best = found[best_of(found)];
  double least = 1;
  for (searched_layout const& s : found) least = std::min(least, s.overhead_of(s.least()));
  std::printf(" **%.2f** (%.2f) %s %d", 100 * best.overhead(), 100 * least,
              names[static_cast<std::size_t>(best.choice.shape)], best.choice.chunk_count);
  if (best.choice.recomputed_chunks > 0) std::printf(", %d again", best.choice.recomputed_chunks);
  if (best.choice.recomputed_chunks == layout_choice::other_stages) std::printf(", some again");
  if (best.choice.sequence_chunks > 1) std::printf(", in %d", best.choice.sequence_chunks);
  std::printf(" |");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  search_budget const e{.passes = argc > 1 ? std::atoll(argv[1]) : 60'000'000,
                        .seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1,
                        .aim = objective::span};
  if (e.passes < 1) {
    std::fputs("usage: bench_search_variants [passes of a cell] [seed]\n", stderr);
    return 2;
  }
  model_share const model{devices{8}, micro_batches{32}, costs({20, 26, 14}, 1)};
  std::puts("| memory % | as it is | recomputed | cut | both | s |\n|---:|---|---|---|---|---:|");
  for (int percent : {10, 15, 20, 30, 40, 50, 75, 100}) {
    std::printf("| %d |", percent);
    double const seconds = bench::processor_seconds([&] {
      for (variety const& how : {variety{{100}, 1}, variety{{6}, 1}, variety{{100}, 4}, variety{{6}, 4}})
        print_cell(model, percent, how, e);
    });
    std::printf(" %.1f |\n", seconds);
  }
}
