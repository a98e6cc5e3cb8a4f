// Searches that one can watch and that end when their time is over.
#pragma once

#include "layout_options.hpp"
#include <ashlar/search/portfolio.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tool {

// What may be spent: evaluations of a whole schedule or, where it is not 0, time.
struct search_budget {
  long long evaluations = 10'000;
  double seconds = 0;
  std::uint64_t seed = 1;

  search_budget part(double share) const {
    auto const fewer = static_cast<long long>(static_cast<double>(evaluations) * share);
    return {fewer < 1 ? 1 : fewer, seconds * share, seed};
  }
};

// --budget and --seed. Throws, when it is parsed, for what is out of range.
void add_budget_options(CLI::App& command, search_budget& budget);

struct searched_layout {
  ashlar::layout_choice choice;
  ashlar::search_result result;
  ashlar::objective aim = ashlar::objective::span;

  ashlar::tick least() const { return result.bound_of(aim); }
  bool is_optimal() const { return result.reached == least(); }
  double gap() const { return ashlar::gap(result.reached, least()); }
  // The share of a time (in ticks of the schedule) in which the busiest device does not do the model's
  // own work: it idles or recomputes.
  double bubble_within(ashlar::tick time) const;
  double bubble() const { return bubble_within(result.reached); }
  // In ticks of what the costs are of: the layout's own may be shorter.
  double in_ticks(ashlar::tick t) const {
    return static_cast<double>(t) / static_cast<double>(choice.unit);
  }
};

// The result is checked. Throws violation as search() does.
searched_layout search_layout(ashlar::layout_choice const& choice, ashlar::objective aim,
                              search_budget const& budget);

// By halves: all get an equal share of a part of the budget, then the better half of them of as much
// again, and so on; the best alone gets half of all. One that by its bound cannot come to be shorter
// than the best is gets no more. In the order given.
std::vector<searched_layout> search_layouts(std::vector<ashlar::layout_choice> const& choices,
                                            ashlar::objective aim, search_budget const& budget);

// Index of the one that is shortest, the first of those.
std::size_t best_of(std::vector<searched_layout> const& all);

}  // namespace tool
