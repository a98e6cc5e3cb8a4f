// Two passes that run as one: their parts alternate, so that one computes while the other exchanges.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/pass_parts.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/ticks.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// How the parts of a forward and a backward alternate.
//   best             as ends first
//   in_turn          a run of parts on one resource of the backward, one of the forward, and so on: the
//                    order of Megatron-Core's combined 1F1B and of DeepSeek-V3's figure 4
//   in_turn_delayed  the same, and what follows a part of weights does not wait for it: Megatron-Core
//                    with delay_wgrad_compute
enum class braiding : unsigned char { best, in_turn, in_turn_delayed };

// How far a pass is: from when on its next part may run, and when the last of those that have run ends.
struct pass_progress {
  tick ready = 0;
  tick end = 0;
};

// When the resources for computing and for exchanging are free for the next part.
struct device_resources {
  tick free[2] = {0, 0};  // for what computes, for what exchanges

  // Runs the next part of a pass as early as can be, for `duration` ticks, and returns when it starts.
  // Without time it needs no resource. `delays_weights`: the next part does not wait for a part of
  // weights.
  constexpr tick run(pass_part const& part, tick duration, bool delays_weights, pass_progress& of) {
    if (duration <= 0) return of.ready;
    tick& resource = free[part.on == part_resource::exchange ? 1 : 0];
    tick const start = max_of(resource, of.ready);
    resource = saturating_sum(start, duration);
    if (!delays_weights || !part.of_weights) of.ready = resource;
    of.end = max_of(of.end, resource);
    return start;
  }
};

// Whether each part of a pair, in the order in which they run, belongs to the second pass. Those of a
// pass keep their order, so this says all.
using braid_order = std::vector<char>;

// The most parts of a forward times those of a backward: of one pair, for which a table of 24 bytes each
// is made, and of all pairs of stages together, which takes about a second.
inline constexpr std::int64_t most_braid_size = 1 << 20, most_braid_sizes = 1 << 24;

// The shortest alternation, and its time.
struct shortest_braid {
  tick time;
  braid_order order = {};
};

// The order in which both passes end first that start together. Each runs its parts in order, and a part
// that takes time has its resource for itself. O(a b (a + b)) for a and b parts. Akers, A graphical
// approach to production scheduling problems (1956): a point of the plane is how far both are. Both go
// on, a diagonal, until they want one resource; then one or the other goes first, which leads to two
// corners. Throws violation{rule::parameter_is_at_most} for more than most_braid_size.
constexpr shortest_braid find_shortest_braid(std::vector<pass_part> const& first,
                                             std::vector<pass_part> const& second) {
  struct chain {
    std::vector<pass_part> parts;       // that take time
    std::vector<tick> begin;            // of each, and the end of all, if nothing waits
    std::vector<std::size_t> numbered;  // how many parts there are up to it, with those of no time

    constexpr explicit chain(std::vector<pass_part> const& all) : begin(1, 0) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].duration <= 0) continue;
        parts.push_back(all[i]);
        begin.push_back(saturating_sum(begin.back(), all[i].duration));
        numbered.push_back(i + 1);
      }
    }
    // The time from the begin of a part to that of another.
    constexpr tick between(std::size_t from, std::size_t to) const { return begin[to] - begin[from]; }
  };
  struct point {
    std::size_t i, j;  // parts of each that have ended
  };
  chain const a(first), b(second);
  std::size_t const rows = a.parts.size(), columns = b.parts.size(), width = columns + 1;
  must_be(at_most(parameter::braid_size, static_cast<std::int64_t>(rows * columns), most_braid_size));
  // Runs parts of both from here, on the diagonal, and returns where that ends.
  auto const go_on = [&](point from, auto ended) {
    point at = from;
    while (at.i < rows && at.j < columns && a.parts[at.i].on != b.parts[at.j].on) {
      tick const left = a.between(from.i, at.i + 1) - b.between(from.j, at.j + 1);
      if (left <= 0) ended(0, a.numbered[at.i++]);
      if (left >= 0) ended(1, b.numbered[at.j++]);
    }
    return at;
  };
  struct corner {
    tick reached = -1;
    point before = {};
  };
  std::vector<corner> corners((rows + 1) * width);
  corners[0].reached = 0;
  corner best;  // the end, where one has ended and nothing is in the way of the other
  auto const lower = [](corner& known, tick time, point before) {
    if (known.reached < 0 || time < known.reached) known = {time, before};
  };
  for (std::size_t i = 0; i <= rows; ++i)
    for (std::size_t j = 0; j <= columns; ++j) {
      tick const now = corners[i * width + j].reached;
      if (now < 0) continue;
      auto const [k, l] = go_on({i, j}, [](char, std::size_t) {});
      if (k == rows || l == columns) {
        lower(best, saturating_sum(now, max_of(a.between(i, rows), b.between(j, columns))), {i, j});
        continue;
      }
      tick const second_first = max_of(a.between(i, k), b.between(j, l + 1)),
                 first_first = max_of(a.between(i, k + 1), b.between(j, l));
      lower(corners[k * width + l + 1], saturating_sum(now, second_first), {i, j});
      lower(corners[(k + 1) * width + l], saturating_sum(now, first_first), {i, j});
    }
  std::vector<point> path{best.before};
  while (path.back().i != 0 || path.back().j != 0)
    path.push_back(corners[path.back().i * width + path.back().j].before);
  shortest_braid made{best.reached};
  std::size_t count[] = {0, 0};
  auto const add = [&](char which, std::size_t up_to) {
    for (; count[static_cast<int>(which)] < up_to; ++count[static_cast<int>(which)])
      made.order.push_back(which);
  };
  for (std::size_t n = path.size() - 1; n > 0; --n) {
    point const at = go_on(path[n], add), next = path[n - 1];
    if (next.i > at.i) add(0, a.numbered[at.i]);
    if (next.j > at.j) add(1, b.numbered[at.j]);
  }
  go_on(path[0], add);
  add(0, first.size());
  add(1, second.size());
  return made;
}

// The time of that order.
constexpr tick best_braid(std::vector<pass_part> const& first, std::vector<pass_part> const& second) {
  return find_shortest_braid(first, second).time;
}

// The order in which the runs of both passes take turns, the backward's first. A run ends where the
// resource changes, and between two parts of weights. Linear.
constexpr braid_order order_in_turn(std::vector<pass_part> const& forward,
                                    std::vector<pass_part> const& backward) {
  braid_order order;
  std::size_t next[] = {0, 0};
  auto const take_turn = [&](std::vector<pass_part> const& parts, char which) {
    std::size_t& i = next[static_cast<int>(which)];
    for (bool goes_on = true; goes_on && i < parts.size();) {
      pass_part const& part = parts[i++];
      order.push_back(which);
      goes_on = i < parts.size() && parts[i].on == part.on && !(part.of_weights && parts[i].of_weights);
    }
  };
  while (order.size() < forward.size() + backward.size()) {
    take_turn(backward, 1);
    take_turn(forward, 0);
  }
  return order;
}

// The time when both have ended, each part run as early as this order allows. Linear.
constexpr tick braid_in_turn(std::vector<pass_part> const& forward,
                             std::vector<pass_part> const& backward, bool delays_weights) {
  device_resources on;
  pass_progress ahead, back;
  std::size_t i = 0, j = 0;
  for (char const is_back : order_in_turn(forward, backward))
    if (is_back != 0) {
      pass_part const& part = backward[j++];
      on.run(part, part.duration, delays_weights, back);
    } else {
      pass_part const& part = forward[i++];
      on.run(part, part.duration, false, ahead);
    }
  return max_of(ahead.end, back.end);
}

// The order in which the parts of a forward and a backward run as a pair.
constexpr braid_order order_of_pair(std::vector<pass_part> const& forward,
                                    std::vector<pass_part> const& backward, braiding how) {
  if (how == braiding::best) return find_shortest_braid(forward, backward).order;
  return order_in_turn(forward, backward);
}

// The time of a forward and a backward as a pair.
constexpr tick braided(std::vector<pass_part> const& forward, std::vector<pass_part> const& backward,
                       braiding how) {
  if (how == braiding::best) return best_braid(forward, backward);
  return braid_in_turn(forward, backward, how == braiding::in_turn_delayed);
}

}  // namespace ashlar
