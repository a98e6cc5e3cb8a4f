// Estimates a candidate's objective value at large m from three rounds.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/hill_climb.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/start_order.hpp>
#include <ashlar/schedule/compose.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ashlar {

// From a candidate's schedule of 3p micro-batches (three rounds), extended periodically: all further
// ones can follow each other as fast as the second p, or a half of these. The mean of the fastest and
// the slowest counts, because what is fast in only one place may not last. For long schedules; O(p^2)
// for each candidate instead of O(m p).
template <class Search>
class surrogate {
 public:
  constexpr surrogate(Search& search, memory_limit const& limit, search_budget budget)
      : search_(&search),
        small_(take(search.of(), micro_batches{3 * round_of(search.of())}), limit, budget),
        least_work_(work_of_sequence(search.of())),
        weight_(budget.aim == objective::both ? 4 : 1) {
    for (pass const& x : small_.passes().what)
      if (x.micro_batch == 0) references_.push_back(x);
    int const p = round_of(search.of()), m = search.of().micro_batch_count();
    int const q = search.of().graph.sequence_chunks(), half = (p / q + 1) / 2 * q;
    for (int like : {p, p + half})
      for (int count : {half, p})
        if (like + count <= 2 * p)
          windows_.push_back({3 * p, m, like, count, like, like + count + m - 3 * p});
  }

  constexpr objective_value operator()(candidate const& k) {
    std::int64_t const before = small_.spent();
    objective_value const three = small_.justify(plan_of(k.tracks, small_.of(), small_.passes()), k.how);
    search_->spend(small_.spent() - before);
    if (three == objective_value{}) return {};
    result_table<tick> const start = start_table(small_.reached(), small_.passes().what, small_.of());
    by_growth_.clear();
    for (std::size_t i = 0; i < windows_.size(); ++i) by_growth_.push_back({growth(start, i), i});
    sort_by_key(by_growth_);
    return {three.first + weight_ * (by_growth_[0].key + by_growth_.back().key) / 2, 0};
  }

  // Justifies the two best extensions of a candidate's schedule at full size, for search.best().
  constexpr void extend(candidate const& k) {
    constexpr std::size_t most_windows = 2;
    if ((*this)(k) == objective_value{}) return;
    result_table<tick> const start = start_table(small_.reached(), small_.passes().what, small_.of());
    precedence_graph const& passes = search_->passes();
    for (std::size_t i = 0; i < by_growth_.size() && i < most_windows; ++i) {
      extended_starts const longer(start, references_, windows_[by_growth_[i].index]);
      list_scheduler::plan const plan = in_start_order(passes.orders, starts_of(longer, passes.what));
      for (justification_options const& how :
           {justification_options{}, k.how, any_justification(*search_, 2),
            any_justification(*search_, 2)})
        search_->justify(plan, how);
    }
  }

 private:
  // What the micro-batches beyond 3p add; not less than their work.
  constexpr tick growth(result_table<tick> const& start, std::size_t i) const {
    extension_window const s = windows_[i];
    tick const period = extended_starts(start, references_, s).period();
    return max_of(period, s.count / search_->of().graph.sequence_chunks() * least_work_)
           * (s.wanted - s.known) / s.count;
  }

  Search* search_;
  justifier<> small_;
  tick least_work_;  // of one sequence
  tick weight_;
  std::vector<pass> references_;  // one micro-batch
  dynamic_array<extension_window> windows_;
  dynamic_array<keyed_index> by_growth_;  // of the last candidate: windows, best first
};

}  // namespace ashlar
