// Iterated local search: starts of the best schedule are moved at random, and what comes of it is
// justified.
#pragma once

#include <ashlar/continuous_block.hpp>
#include <ashlar/improver.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

namespace shake_detail {

// Moves the wished starts of a few passes, of a stage's passes of one kind (of every first, second,
// third or fourth micro-batch), of a micro-batch, of all in a short time, or of all of a kind from a
// micro-batch on.
template <class Search>
constexpr void move_some(Search& search, dispatcher::timeline const& t, tick work,
                         std::vector<tick>& wish) {
  std::vector<pass> const& what = search.passes().what;
  std::size_t const n = what.size(), how = search.random(std::size_t{5});
  tick const most = work * search.random(1, 60) / 100 + 1;
  auto const far = [&] { return search.random(-most, most); };
  pass const some = what[search.random(n)];
  int const every = static_cast<int>(search.random(1, 4)), offset = some.micro_batch % every;
  tick const together = far(), length = work * search.random(1, 4), from = search.random(0, t.makespan);
  if (how == 0)
    for (std::size_t left = 1 + search.random(n / 20 + 1); left > 0; --left)
      wish[search.random(n)] += far();
  for (std::size_t x = 0; how > 0 && x < n; ++x) {
    bool const kind = what[x].kind == some.kind;
    if (how == 1 && kind && what[x].stage == some.stage && what[x].micro_batch % every == offset)
      wish[x] += together;
    if (how == 2 && what[x].micro_batch == some.micro_batch) wish[x] += together;
    if (how == 3 && t.start[x] >= from && t.start[x] < from + length) wish[x] += far() / 2;
    if (how == 4 && kind && what[x].micro_batch >= some.micro_batch) wish[x] += together;
  }
}

}  // namespace shake_detail

// Until the effort is spent; goes on from what `rate` scores no worse. Does nothing where nothing is
// found yet. Returns the last that it went on from.
template <class Search, class Rate>
constexpr dispatcher::timeline shake(Search& search, Rate rate) {
  dispatcher::timeline now = search.best();
  if (!search.found()) return now;
  tick const work = work_of_one(search.of());
  score least = rate(now);
  std::vector<std::pair<tick, std::size_t>> by_wish;  // and by place in the order
  while (!search.is_over()) {
    std::vector<tick> wish = now.start;
    shake_detail::move_some(search, now, work, wish);
    dispatcher::plan plan(now.orders.size());
    for (std::size_t d = 0; d < plan.size(); ++d) {
      by_wish.clear();
      std::vector<int> const& order = now.orders[d];
      for (std::size_t i = 0; i < order.size(); ++i)
        by_wish.push_back({wish[static_cast<std::size_t>(order[i])], i});
      std::sort(by_wish.begin(), by_wish.end());
      for (auto const& [at, i] : by_wish) plan[d].push_back(order[i]);
    }
    int const rounds = 1 + static_cast<int>(search.random(std::size_t{2}));
    if (search.justify(plan, any_style(search, rounds)) == score{}) continue;
    score const reached = rate(search.reached());
    if (reached > least) continue;
    least = reached;
    now = search.reached();
  }
  return now;
}

template <class Search>
constexpr void shake(Search& search) {
  shake(search, [&](dispatcher::timeline const& t) { return search.judge(t); });
}

}  // namespace ashlar
