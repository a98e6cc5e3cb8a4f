// Definitions of iterated_local_search.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/optimize/delay_block.hpp>
#include <ashlar/optimize/iterated_local_search.hpp>
#include <ashlar/optimize/periodic_extension.hpp>
#include <ashlar/optimize/start_order.hpp>

#include <cstddef>

namespace ashlar::local_search_detail {

// Lets some consecutive micro-batches of a long schedule repeat a few others.
ASHLAR_INLINE void repeat_window(justifier& search, list_scheduler::solution const& t, pass reference,
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

ASHLAR_INLINE void perturb(justifier& search, list_scheduler::solution const& t, tick work,
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

}  // namespace ashlar::local_search_detail

namespace ashlar {

ASHLAR_INLINE list_scheduler::solution iterated_local_search(
    justifier& search, function_ref<objective_value(list_scheduler::solution const&)> rate,
    tick farthest) {
  list_scheduler::solution now = search.best();
  if (!search.found()) return now;
  tick const work = work_of_one(search.of());
  objective_value least = rate(now);
  while (!search.is_over()) {
    std::vector<tick> targets = now.start;
    local_search_detail::perturb(search, now, work, targets);
    list_scheduler::device_orders const orders = in_start_order(now.orders, targets);
    int const rounds = 1 + static_cast<int>(search.random(std::size_t{2}));
    tick const cutoff = search.judge(now).first + farthest;
    if (search.justify(orders, any_justification(search, rounds), cutoff) == objective_value{}) continue;
    objective_value const reached = rate(search.reached());
    if (reached > least) continue;
    least = reached;
    now = search.reached();
  }
  return now;
}

ASHLAR_INLINE void iterated_local_search(justifier& search) {
  bool const prunes = search.found() && is_long(search.of());
  tick const farthest = prunes ? search.judge(search.best()).first / 64 : max_tick / 2;
  iterated_local_search(
      search, [&](list_scheduler::solution const& t) { return search.judge(t); }, farthest);
}

}  // namespace ashlar
