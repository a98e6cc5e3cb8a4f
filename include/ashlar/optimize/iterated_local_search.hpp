// Iterated local search: starts of the best schedule are moved at random, and what comes of it is
// justified.
#pragma once

#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/start_order.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

namespace shake_detail {

// In a stretch of micro-batches of a long schedule does what a few others did.
template <class Search>
constexpr void repeat_some(Search& search, dispatcher::timeline const& t, pass reference,
                           std::vector<tick>& wish) {
  schedule const& s = search.of();
  int const q = s.graph.sequence_chunks(), m = s.micro_batch_count() / q, p = round_of(s) / q;
  auto const any = [&](int least, int most) { return static_cast<int>(search.random(least, most)); };
  int const count = any(0, 1) == 0 ? p : any(1, 2 * p);
  int const like = any(0, m - count - 1), begin = any(0, m - 1);
  int const end = any(0, 1) == 0 ? m : any(begin, m);
  stretch const some{m * q, m * q, like * q, count * q, begin * q, end * q};
  std::vector<pass> const& what = search.passes().what;
  wish = starts_of(stretched(starts_of(t, what, s), {reference}, some), what);
}

// Moves the wished starts of a few passes, of a stage's passes of one kind (of every first, second,
// third or fourth micro-batch), of a micro-batch, of all in a short time, or of all of a kind from a
// micro-batch on; in long schedules it may repeat what some did instead.
template <class Search>
constexpr void move_some(Search& search, dispatcher::timeline const& t, tick work,
                         std::vector<tick>& wish) {
  std::vector<pass> const& what = search.passes().what;
  std::size_t const n = what.size(), how = search.random(std::size_t{is_long(search.of()) ? 6U : 5U});
  tick const most = work * search.random(1, 60) / 100 + 1;
  auto const far = [&] { return search.random(-most, most); };
  pass const some = what[search.random(n)];
  int const every = static_cast<int>(search.random(1, 4)), offset = some.micro_batch % every;
  tick const together = far(), length = work * search.random(1, 4), from = search.random(0, t.makespan);
  if (how == 0)
    for (std::size_t left = 1 + search.random(n / 20 + 1); left > 0; --left)
      wish[search.random(n)] += far();
  if (how == 5) repeat_some(search, t, some, wish);
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
// found yet. What is first dispatched to more than `farthest` above what search.judge() says of the last
// that it went on from is dropped. Returns that.
template <class Search, class Rate>
constexpr dispatcher::timeline shake(Search& search, Rate rate, tick farthest = max_tick / 2) {
  dispatcher::timeline now = search.best();
  if (!search.found()) return now;
  tick const work = work_of_one(search.of());
  score least = rate(now);
  while (!search.is_over()) {
    std::vector<tick> wish = now.start;
    shake_detail::move_some(search, now, work, wish);
    dispatcher::plan const plan = by_wish(now.orders, wish);
    int const rounds = 1 + static_cast<int>(search.random(std::size_t{2}));
    tick const hopeless = search.judge(now).first + farthest;
    if (search.justify(plan, any_style(search, rounds), hopeless) == score{}) continue;
    score const reached = rate(search.reached());
    if (reached > least) continue;
    least = reached;
    now = search.reached();
  }
  return now;
}

// By what the search looks for. Of a long schedule few others can be tried: half of them are dropped for
// being a 64th worse when first dispatched, as hardly any that comes to be better is.
template <class Search>
constexpr void shake(Search& search) {
  bool const choosy = search.found() && is_long(search.of());
  tick const farthest = choosy ? search.judge(search.best()).first / 64 : max_tick / 2;
  shake(
      search, [&](dispatcher::timeline const& t) { return search.judge(t); }, farthest);
}

}  // namespace ashlar
