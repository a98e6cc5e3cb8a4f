// Work packed into the gaps of as few steps as it finds.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/ticks.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/fill/placed_memory.hpp>
#include <ashlar/fill/rooms.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <vector>

namespace ashlar {

// Tries the bound of each device's steps first, and one more for a device that fails. A try takes the
// parts one by one, none before those that it reads, and puts each where its room has least left, or
// first in time. A try backward starts from the end, and takes none before those that read it: where
// long parts read many short ones, they get the long gaps. The tries differ in the order of the parts
// and in that choice; the first one that places all wins. Parts that are longer than every gap, and what
// waits for them, are left out.
class best_fit_packing {
 public:
  // Refers to all. `step` is `length` ticks long and starts at 0.
  best_fit_packing(schedule const& step, tick length, part_times& times, fill_options const& o);

  // Places parts that fit into a gap; returns the steps that each device takes. Throws
  // violation{rule::no_pass_starts_before_its_input} for a pass that reads work for which it finds no
  // place before it, and violation{rule::memory_is_within_budget} with the least bytes that a place
  // would do for a part that breaks the limit in every place.
  std::vector<int> run();

 private:
  static constexpr int all = -1;

  enum class part_order : unsigned char { as_numbered, longest_first, most_to_come_first };
  struct attempt {
    part_order order;
    bool is_best;      // where least is left; else first in time, or last
    bool is_backward;  // not where sums over devices join what is packed
  };
  // The last one is that of which waits_in_vain() asks.
  static constexpr attempt attempts[] = {
      {part_order::longest_first, true, false},      {part_order::longest_first, false, false},
      {part_order::most_to_come_first, true, false}, {part_order::most_to_come_first, false, false},
      {part_order::as_numbered, true, true},         {part_order::as_numbered, false, true},
      {part_order::as_numbered, true, false},        {part_order::as_numbered, false, false},
  };

  bool is_of(int number, int group) const {
    return !times_.is_collective(number) && !nth(long_, number)
           && (group == all || times_.device(number) == group);
  }

  void pack_group(int group);

  // Whether memory alone keeps a part out of a last step in which nothing else lies: then it will keep
  // it out of all steps after that, too.
  bool waits_in_vain(int failed) const;

  // The first part that finds no place, or none.
  int first_failure(int group, attempt const& a);

  dynamic_array<room> rooms_on(int device) const {
    return rooms_of(step_, device, length_, nth(steps_, device), options_.interlocked);
  }

  bool place(int number, dynamic_array<room>& rooms, bool is_best);

  // Works from the end, on one device, the last number first.
  int first_failure_backward(int device, bool is_best);

  // The start, or never.
  tick place_backward(int number, tick latest, dynamic_array<room>& rooms, bool is_best);

  // The parts, none before what it reads.
  dynamic_array<int> ordered(int group, part_order by) const;

  void sort_by_rank(dynamic_array<int>& order, part_order by) const;

  // The parts in the longest chain before each (or ticks of it and the longest chain after it).
  dynamic_array<tick> ranks(part_order by) const;

  schedule const& step_;
  tick length_;
  part_times& times_;
  fill_options const& options_;
  std::vector<int> steps_;
  std::vector<placed_memory> held_;         // by device
  byte_count refused_ = part_times::never;  // least that the part placed last would hold
  dynamic_array<bool> long_;
  bool has_collectives_ = false;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/fill/best_fit.ipp>
#endif
