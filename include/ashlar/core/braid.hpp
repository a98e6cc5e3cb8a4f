// Two passes that run as one: their parts alternate, so that one computes while the other exchanges.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/pass_parts.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// How the parts of a forward and a backward alternate.
//   best             as ends first
//   in_turn          a run of parts on one resource of the backward, one of the forward, and so on: the
//                    order of Megatron-Core's combined 1F1B and of DeepSeek-V3's figure 4
//   in_turn_delayed  the same, and what follows a part of weights does not wait for it: Megatron-Core
//                    with delay_wgrad_compute
enum class braiding : unsigned char { best, in_turn, in_turn_delayed };

// The least time in which both passes end that start together. Each runs its parts in order, and a part
// that takes time has its resource for itself. O(a b (a + b)) for a and b parts. Akers, A graphical
// approach to production scheduling problems (1956): a point of the plane is how far both are. Both go
// on, a diagonal, until they want one resource; then one or the other goes first, which leads to two
// corners.
constexpr tick best_braid(std::vector<pass_part> const& first, std::vector<pass_part> const& second) {
  struct chain {
    std::vector<pass_part> parts;  // that take time
    std::vector<tick> begin;       // of each, and the end of all, if nothing waits

    constexpr explicit chain(std::vector<pass_part> const& all) : begin(1, 0) {
      for (pass_part const& part : all) {
        if (part.duration <= 0) continue;
        parts.push_back(part);
        begin.push_back(saturating_sum(begin.back(), part.duration));
      }
    }
    // From the begin of a part to that of another.
    constexpr tick between(std::size_t from, std::size_t to) const { return begin[to] - begin[from]; }
  };
  chain const a(first), b(second);
  std::size_t const rows = a.parts.size(), columns = b.parts.size(), width = columns + 1;
  constexpr tick never = -1;
  std::vector<tick> reached((rows + 1) * width, never);
  reached[0] = 0;
  tick best = never;
  auto const lower = [](tick& known, tick time) {
    if (known == never || time < known) known = time;
  };
  for (std::size_t i = 0; i <= rows; ++i)
    for (std::size_t j = 0; j <= columns; ++j) {
      tick const now = reached[i * width + j];
      if (now == never) continue;
      std::size_t k = i, l = j;  // what both run, on the diagonal from here
      while (k < rows && l < columns && a.parts[k].on != b.parts[l].on) {
        tick const left = a.between(i, k + 1) - b.between(j, l + 1);
        k += left <= 0 ? 1 : 0;
        l += left >= 0 ? 1 : 0;
      }
      if (k == rows || l == columns) {
        lower(best, saturating_sum(now, max_of(a.between(i, rows), b.between(j, columns))));
        continue;
      }
      lower(reached[k * width + l + 1], now + max_of(a.between(i, k), b.between(j, l + 1)));
      lower(reached[(k + 1) * width + l], now + max_of(a.between(i, k + 1), b.between(j, l)));
    }
  return best;
}

// The time in which both end if their runs take turns, the backward's first. A run ends where the
// resource changes, and between two parts of weights. Linear.
constexpr tick braid_in_turn(std::vector<pass_part> const& forward,
                             std::vector<pass_part> const& backward, bool delays_weights) {
  tick free[2] = {0, 0}, end = 0;
  struct chain {
    std::vector<pass_part> const& parts;
    std::size_t next = 0;
    tick done = 0;
  };
  chain back{backward}, ahead{forward};
  auto const take_turn = [&](chain& c, bool delays) {
    for (bool goes_on = true; goes_on && c.next < c.parts.size();) {
      pass_part const& part = c.parts[c.next++];
      tick& resource = free[part.on == part_resource::exchange ? 1 : 0];
      resource = saturating_sum(max_of(resource, c.done), part.duration);
      if (!delays || !part.of_weights) c.done = resource;
      end = max_of(end, resource);
      goes_on = c.next < c.parts.size() && c.parts[c.next].on == part.on
                && !(part.of_weights && c.parts[c.next].of_weights);
    }
  };
  while (back.next < backward.size() || ahead.next < forward.size()) {
    take_turn(back, delays_weights);
    take_turn(ahead, false);
  }
  return end;
}

// What a forward and a backward take as a pair.
constexpr tick braided(std::vector<pass_part> const& forward, std::vector<pass_part> const& backward,
                       braiding how) {
  if (how == braiding::best) return best_braid(forward, backward);
  return braid_in_turn(forward, backward, how == braiding::in_turn_delayed);
}

}  // namespace ashlar
