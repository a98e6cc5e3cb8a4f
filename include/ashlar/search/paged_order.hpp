// The times of the passes of given orders if devices have room for few stashes, and the others are on
// their hosts.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/machine.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// Each device has room for a number of stashes. A forward takes a place, and a backward whose stash is
// away; where none is free, the stash leaves whose backward comes last in the device's order (Belady,
// 1966). A pass waits for its place and for its stash.
class paged_order {
 public:
  // Made for schedules of the stages, costs and memory of `s`.
  paged_order(schedule const& s, memory_limit const& limit, host_link const& host);

  // Whether it can be asked: no stage recomputes or keeps more from its input to its weight pass, there
  // is no work, nothing is in pairs, forwards and backwards take time, and each device has room for a
  // stash.
  bool is_possible() const { return is_possible_; }
  // Sets the starts of the passes in the orders of `s`, which has the same passes in other orders. False
  // if they wait for each other in a cycle, or for room that is never freed. `away`: the forwards whose
  // stashes leave, of which offload_exactly() then says that they fit. With shorter copies no pass
  // starts later. O(passes * places).
  bool time(schedule& s, std::vector<pass>& away) const;

 private:
  class numbers;
  class walk;

  bool leave(schedule const& s, numbers const& number, std::vector<char>& leaves) const;

  std::vector<std::size_t> places_;  // by device
  std::vector<tick> copies_;         // by stage
  bool is_possible_ = true;
};

// Finds a better order under that rule by at most `moves` moves of single passes, from the orders of `s`
// on, which gets it with its starts, and `away` the stashes that leave. False if there is none.
// `length(schedule)` is minimised. The result depends on the arguments alone.
bool improve_paged(paged_order const& paging, schedule& s, std::vector<pass>& away, std::int64_t moves,
                   std::uint64_t seed, function_ref<tick(schedule const&)> length);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/search/paged_order.ipp>
#endif
