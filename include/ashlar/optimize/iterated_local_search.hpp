// Iterated local search (Lourenco, Martin and Stuetzle, 2003) on the starts of passes, with
// justification as the local search.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/justification.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/start_order.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

namespace local_search_detail {

// Lets some consecutive micro-batches of a long schedule do what a few others did.
template <class Search>
constexpr void repeat_window(Search& search, list_scheduler::timeline const& t, pass reference,
                             std::vector<tick>& targets) {
  schedule const& s = search.of();
  int const q = s.graph.sequence_chunks(), m = s.micro_batch_count() / q, p = round_of(s) / q;
  auto const any = [&](int least, int most) { return static_cast<int>(search.random(least, most)); };
  int const count = any(0, 1) == 0 ? p : any(1, 2 * p);
  int const like = any(0, m - count - 1), begin = any(0, m - 1);
  int const end = any(0, 1) == 0 ? m : any(begin, m);
  extension_window const some{m * q, m * q, like * q, count * q, begin * q, end * q};
  dynamic_array<pass> const& what = search.passes().what;
  targets = starts_of(extended_starts(start_table(t, what, s), {reference}, some), what);
}

// Moves the target starts of a few passes, of a stage's passes of one kind (of every first, second,
// third or fourth micro-batch), of a micro-batch, of all in a short time, or of all of a kind from a
// micro-batch on; in long schedules it may repeat what some did instead.
template <class Search>
constexpr void perturb(Search& search, list_scheduler::timeline const& t, tick work,
                       std::vector<tick>& targets) {
  dynamic_array<pass> const& what = search.passes().what;
  std::size_t const n = what.size(), how = search.random(std::size_t{is_long(search.of()) ? 6U : 5U});
  tick const most = work * search.random(1, 60) / 100 + 1;
  auto const far = [&] { return search.random(-most, most); };
  pass const some = what[search.random(n)];
  int const every = static_cast<int>(search.random(1, 4)), offset = some.micro_batch % every;
  tick const together = far(), length = work * search.random(1, 4), from = search.random(0, t.makespan);
  if (how == 0)
    for (std::size_t left = 1 + search.random(n / 20 + 1); left > 0; --left)
      targets[search.random(n)] += far();
  if (how == 5) repeat_window(search, t, some, targets);
  for (std::size_t x = 0; how > 0 && x < n; ++x) {
    bool const kind = what[x].kind == some.kind;
    if (how == 1 && kind && what[x].stage == some.stage && what[x].micro_batch % every == offset)
      targets[x] += together;
    if (how == 2 && what[x].micro_batch == some.micro_batch) targets[x] += together;
    if (how == 3 && t.start[x] >= from && t.start[x] < from + length) targets[x] += far() / 2;
    if (how == 4 && kind && what[x].micro_batch >= some.micro_batch) targets[x] += together;
  }
}

}  // namespace local_search_detail

// Perturb, justify, accept if not worse, until the budget ends; returns the last accepted timeline.
// `rate` gives the objective value of a timeline; without a timeline to begin with nothing is done. What
// the first dispatch puts more than `farthest` above the last accepted value of search.judge() is
// dropped.
template <class Search, class Rate>
constexpr list_scheduler::timeline iterated_local_search(Search& search, Rate rate,
                                                         tick farthest = max_tick / 2) {
  list_scheduler::timeline now = search.best();
  if (!search.found()) return now;
  tick const work = work_of_one(search.of());
  objective_value least = rate(now);
  while (!search.is_over()) {
    std::vector<tick> targets = now.start;
    local_search_detail::perturb(search, now, work, targets);
    list_scheduler::plan const plan = in_start_order(now.orders, targets);
    int const rounds = 1 + static_cast<int>(search.random(std::size_t{2}));
    tick const hopeless = search.judge(now).first + farthest;
    if (search.justify(plan, any_justification(search, rounds), hopeless) == objective_value{}) continue;
    objective_value const reached = rate(search.reached());
    if (reached > least) continue;
    least = reached;
    now = search.reached();
  }
  return now;
}

// By what the search looks for. For a long schedule, few others can be tried. Half of them are dropped
// for being a 64th worse when first dispatched, because hardly any of these becomes better.
template <class Search>
constexpr void iterated_local_search(Search& search) {
  bool const choosy = search.found() && is_long(search.of());
  tick const farthest = choosy ? search.judge(search.best()).first / 64 : max_tick / 2;
  iterated_local_search(
      search, [&](list_scheduler::timeline const& t) { return search.judge(t); }, farthest);
}

}  // namespace ashlar
