#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/plan/parts/divide.hpp>

#include <cstddef>
#include <cstdint>

namespace ashlar {

bool may_be_a_part(part_sizes sizes, int samples, int of) {
  if (samples < 1 || samples > of) return false;
  bool const is_power = (samples & (samples - 1)) == 0;
  return samples == of || sizes == part_sizes::all || (sizes == part_sizes::powers_of_two && is_power);
}

std::vector<division> divide(int n, std::vector<division_option> const& options, part_sizes sizes,
                             byte_count limit) {
  if (n < 1) refuse({.broken = rule::counts_are_positive, .number = n});
  must_be(at_most(parameter::batch_size, n, most_divided));
  dynamic_array<keyed_index> by_memory;
  for (std::size_t i = 0; i < options.size(); ++i) {
    variant const& v = options[i].what;
    for (std::int64_t number : {v.time, v.memory, v.penalty})
      if (number < 0) refuse({.broken = rule::no_duration_is_negative, .number = number});
    if (v.memory <= limit && may_be_a_part(sizes, options[i].samples, n))
      by_memory.push_back({v.memory, i});
  }
  sort_by_key(by_memory);

  struct best {
    tick cost = max_tick;
    int option = -1;  // of its last part
  };
  dynamic_array<best> table(static_cast<std::size_t>(n) + 1);
  table[0].cost = 0;
  std::vector<division> front;
  tick least = max_tick;
  for (std::size_t k = 0; k < by_memory.size(); ++k) {
    int const index = static_cast<int>(by_memory[k].index);
    division_option const& option = options[by_memory[k].index];
    tick const cost = option.what.cost();
    best *const all = table.data(), *from = all, *to = all + option.samples;
    for (best* const end = all + n; to <= end; ++to, ++from)
      if (from->cost + cost < to->cost) *to = {from->cost + cost, index};
    bool const is_last = k + 1 == by_memory.size() || by_memory[k + 1].key != by_memory[k].key;
    if (!is_last || all[n].cost >= least) continue;
    least = all[n].cost;
    division point;
    for (int rest = n; rest > 0;) {
      int const part = all[rest].option;
      point.parts.push_back(part);
      rest -= nth(options, part).samples;
    }
    for (int part : point.parts) point.what = in_turn(point.what, nth(options, part).what);
    front.push_back(point);
  }
  return front;
}

}  // namespace ashlar
