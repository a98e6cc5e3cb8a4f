// What a kernel is good for with many micro-batches, told from its schedule of few.
#pragma once

#include <ashlar/core/algorithm.hpp>
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

// Scores a kernel by its schedule of 3p micro-batches (three rounds), stretched: by how fast the second
// p follow each other, and each half of these, all further ones can. The mean of the fastest and the
// slowest counts, because what is fast in one place only may not last. For long schedules; in O(p^2) a
// score instead of O(m p).
template <class Search>
class by_extension {
 public:
  constexpr by_extension(Search& search, memory_limit const& limit, effort e)
      : search_(&search),
        small_(take(search.of(), micro_batches{3 * round_of(search.of())}), limit, e),
        least_work_(work_of_one(search.of())),
        weight_(e.aim == objective::both ? 4 : 1) {
    for (pass const& x : small_.passes().what)
      if (x.micro_batch == 0) references_.push_back(x);
    int const p = round_of(search.of()), m = search.of().micro_batch_count();
    int const q = search.of().graph.sequence_chunks(), half = (p / q + 1) / 2 * q;
    for (int like : {p, p + half})
      for (int count : {half, p})
        if (like + count <= 2 * p)
          stretches_.push_back({3 * p, m, like, count, like, like + count + m - 3 * p});
  }

  constexpr score operator()(kernel const& k) {
    std::int64_t const before = small_.spent();
    score const three = small_.justify(plan_of(k.tracks, small_.of(), small_.passes()), k.how);
    search_->spend(small_.spent() - before);
    if (three == score{}) return {};
    result_table<tick> const start = starts_of(small_.reached(), small_.passes().what, small_.of());
    by_growth_.clear();
    for (std::size_t i = 0; i < stretches_.size(); ++i) by_growth_.push_back({growth(start, i), i});
    sort_by_key(by_growth_);
    return {three.first + weight_ * (by_growth_.front().key + by_growth_.back().key) / 2, 0};
  }

  // Justifies the two best stretches of a kernel's schedule at full size, for search.best().
  constexpr void extend(kernel const& k) {
    constexpr std::size_t most_stretches = 2;
    if ((*this)(k) == score{}) return;
    result_table<tick> const start = starts_of(small_.reached(), small_.passes().what, small_.of());
    pass_network const& passes = search_->passes();
    for (std::size_t i = 0; i < by_growth_.size() && i < most_stretches; ++i) {
      stretched const longer(start, references_, stretches_[by_growth_[i].index]);
      dispatcher::plan const plan = by_wish(passes.orders, starts_of(longer, passes.what));
      for (style const& how : {style{}, k.how, any_style(*search_, 2), any_style(*search_, 2)})
        search_->justify(plan, how);
    }
  }

 private:
  // What the micro-batches beyond 3p add; not less than their work.
  constexpr tick growth(result_table<tick> const& start, std::size_t i) const {
    stretch const s = stretches_[i];
    tick const period = stretched(start, references_, s).period();
    return max_of(period, s.count * least_work_) * (s.wanted - s.known) / s.count;
  }

  Search* search_;
  improver<> small_;
  tick least_work_;  // of one micro-batch
  tick weight_;
  std::vector<pass> references_;  // one micro-batch
  std::vector<stretch> stretches_;
  std::vector<keyed_index> by_growth_;  // of the last kernel: stretches, best first
};

}  // namespace ashlar
