// Searches that report their progress and end when their time is over.
#pragma once

#include "options/layout_options.hpp"
#include <ashlar/search/layouts.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tool {

// The budget: evaluations of a whole schedule or, where it is not 0, time.
struct search_budget {
  long long evaluations = 10'000;
  double seconds = 0;
  std::uint64_t seed = 1;
  int threads = 1;

  search_budget part(double share) const {
    auto const fewer = static_cast<long long>(static_cast<double>(evaluations) * share);
    return {fewer < 1 ? 1 : fewer, seconds * share, seed, threads};
  }
};

// Adds --budget, --seed and --threads.
void add_budget_options(CLI::App& command, search_budget& budget);

// Searches all within one budget, in the order given: each from published schedules and from those of
// `starts` that are for this very problem. The results are checked. Throws violation as search() does.
std::vector<ashlar::searched_layout> search_layouts(std::vector<ashlar::layout_choice> const& choices,
                                                    ashlar::objective aim, search_budget const& budget,
                                                    std::vector<ashlar::schedule> const& starts = {});

}  // namespace tool
