// Tabu search on the orders of devices: passes on a longest path change places, which the list
// scheduler's rules and perturbed starts do not see.
//
// Nowicki and Smutnicki, A fast taboo search algorithm for the job shop problem (1996); the moves are
// those of Balas and Vazacopoulos, Guided local search with shifting bottleneck for job shop scheduling
// (1998).
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/optimize/disjunctive_graph.hpp>
#include <ashlar/optimize/insertion_moves.hpp>
#include <ashlar/optimize/justification.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

class tabu_search {
 public:
  // `search` must outlive it. O(passes).
  tabu_search(justifier& search, memory_limit const& limit);

  // Spends the search's budget from a solution on, until many moves in a row bring nothing or no move is
  // left. best() is then no longer than that solution.
  void run(list_scheduler::solution const& from);

  list_scheduler::device_orders const& best() const { return best_; }

 private:
  // Set by trial on the workloads of test/known_bubbles.hpp; half or twice as much makes little
  // difference.
  static constexpr int most_idle = 700, shortest_ban = 12, most_longer = 8;
  static constexpr std::size_t reach = 6, most_entries = 1U << 16U;
  // Heads and tails computed in the time of dispatching one pass.
  static constexpr std::int64_t visits_of_dispatch = 5;

  // The budget is looked at as often as for dispatched schedules.
  bool is_over();
  // Work since charge(), in dispatched passes.
  std::int64_t uncharged() const {
    return (graph_.visits() + moves_.visits()) / visits_of_dispatch - charged_;
  }
  void charge() {
    search_->spend(uncharged());
    charged_ += uncharged();
  }

  // Makes the best move of the ends of the blocks of a longest path: of passes that follow each other on
  // one device. Only such moves can make the path shorter. If all are forbidden, any of them; false
  // without any.
  bool step();

  void offer_ends(std::size_t device, std::size_t first, std::size_t last);

  void offer(insertion_move const& m);

  // Calls f(x, y) for each two passes that a move puts into this order, x before y.
  void for_each_turned(insertion_move const& m, function_ref<void(int, int)> f) const;
  bool is_forbidden(insertion_move const& m);
  void forbid_reversal(insertion_move const& m) {
    std::int64_t const until = clock_ + shortest_ban + search_->random(tick{0}, tick{most_longer - 1});
    for_each_turned(m, [&](int x, int y) { entry(y, x) = until; });
  }
  // The step up to which x may not be put before y. Others may have the same entry: then a move too many
  // is forbidden.
  std::int64_t& entry(int x, int y);

  justifier* search_;
  disjunctive_graph graph_;
  insertion_moves moves_;
  std::vector<std::int64_t> forbidden_until_;
  std::vector<int> path_;
  dynamic_array<insertion_move> best_moves_, forbidden_moves_;
  tick best_estimate_ = max_tick, least_ = max_tick;
  list_scheduler::device_orders best_;
  std::int64_t clock_ = 0, charged_ = 0;
};

// Perturbs, justifies, runs the tabu search, justifies, accepts if not worse, until the budget ends.
// Drops orders of a long schedule that are a 64th worse when first dispatched.
void iterated_tabu_search(justifier& search, memory_limit const& limit);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/optimize/tabu_search.ipp>
#endif
