// Definitions of surrogate.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/start_order.hpp>
#include <ashlar/optimize/surrogate.hpp>
#include <ashlar/schedule/compose.hpp>

#include <cstdint>

namespace ashlar {

ASHLAR_INLINE surrogate::surrogate(justifier& search, memory_limit const& limit, search_budget budget)
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

ASHLAR_INLINE objective_value surrogate::operator()(candidate const& k) {
  std::int64_t const before = small_.spent();
  objective_value const three =
      small_.justify(orders_of_blocks(k.tracks, small_.of(), small_.passes()), k.how);
  search_->spend(small_.spent() - before);
  if (three == objective_value{}) return {};
  result_table<tick> const start = start_table(small_.reached(), small_.passes().what, small_.of());
  by_growth_.clear();
  for (std::size_t i = 0; i < windows_.size(); ++i) by_growth_.push_back({growth(start, i), i});
  sort_by_key(by_growth_);
  return {three.first + weight_ * (by_growth_[0].key + by_growth_.back().key) / 2, 0};
}

ASHLAR_INLINE void surrogate::extend(candidate const& k) {
  constexpr std::size_t most_windows = 2;
  if ((*this)(k) == objective_value{}) return;
  result_table<tick> const start = start_table(small_.reached(), small_.passes().what, small_.of());
  precedence_graph const& passes = search_->passes();
  for (std::size_t i = 0; i < by_growth_.size() && i < most_windows; ++i) {
    extended_starts const longer(start, references_, windows_[by_growth_[i].index]);
    list_scheduler::device_orders const orders =
        in_start_order(passes.orders, starts_of(longer, passes.what));
    for (justification_options const& how :
         {justification_options{}, k.how, any_justification(*search_, 2),
          any_justification(*search_, 2)})
      search_->justify(orders, how);
  }
}

ASHLAR_INLINE tick surrogate::growth(result_table<tick> const& start, std::size_t i) const {
  extension_window const s = windows_[i];
  tick const period = extended_starts(start, references_, s).period();
  return max_of(period, s.count / search_->of().graph.sequence_chunks() * least_work_)
         * (s.wanted - s.known) / s.count;
}

}  // namespace ashlar
