// Definitions of modulo_search.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/modulo_search.hpp>
#include <ashlar/optimize/start_order.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::modulo_search_detail {

ASHLAR_INLINE modulo_block::turns neighbour(justifier& search, modulo_block::turns t, tick period) {
  std::size_t const how = search.random(std::size_t{4}), count = t.order.size();
  std::size_t const from = search.random(count), to = search.random(count);
  tick const reach = period / 6;
  if (how == 0) std::swap(t.order[from], t.order[to]);
  if (how == 1)
    for (std::size_t i = from; i != to; i += i < to ? 1 : std::size_t(-1))
      std::swap(t.order[i], t.order[i < to ? i + 1 : i - 1]);
  if (how == 2) t.first = search.random(0, period - 1);
  if (how == 3 || (how == 1 && search.random(std::size_t{2}) == 0))
    t.first = floor_remainder(t.first + search.random(-reach, reach), period);
  return t;
}

}  // namespace ashlar::modulo_search_detail

namespace ashlar {

ASHLAR_INLINE tick anneal(justifier& search, modulo_block& block, std::int64_t trials) {
  std::size_t const count = block.devices().size();
  for (std::size_t d = 0; d < count; ++d) {
    modulo_block::turns t = block.devices()[d];
    for (std::size_t i = t.order.size(); i > 1; --i)
      std::swap(t.order[i - 1], t.order[search.random(i)]);
    t.first = t.order.empty() ? 0 : search.random(0, block.period() - 1);
    block.set(d, t);
  }
  tick now = block.cost();
  for (std::int64_t i = 0; i < trials; ++i) {
    std::size_t const d = search.random(count);
    if (block.devices()[d].order.empty()) continue;
    modulo_block::turns const before = block.devices()[d];
    block.set(d, modulo_search_detail::neighbour(search, before, block.period()));
    double const left = 1 - static_cast<double>(i) / static_cast<double>(trials);
    tick const next = block.cost();
    if (static_cast<double>(next - now) <= 1.5 * left * left * static_cast<double>(block.period()))
      now = next;
    else
      block.set(d, before);
  }
  return block.cost();
}

ASHLAR_INLINE void improve_modulo_blocks(justifier& search, memory_limit const& limit,
                                         std::int64_t passes) {
  constexpr std::int64_t trials_of_dispatch = 10;  // of a block that take as long as to dispatch it once
  constexpr int most_blocks = 4, justifications = 24;
  schedule const& s = search.of();
  std::int64_t const end = search.spent() + passes;
  modulo_block block(s, limit, least_period(s)), best = block;
  auto const size = static_cast<std::int64_t>(block.pass_count());
  std::int64_t const trials = min_of(1000 * size, passes / 6 * trials_of_dispatch / size);
  if (trials < 20 * size) return;
  tick least = max_tick;
  for (int blocks = 0; blocks < most_blocks && search.spent() < end - passes / 3; ++blocks) {
    tick const cost = anneal(search, block, trials);
    search.spend(trials * size / trials_of_dispatch);
    if (cost < least) best = block;
    least = min_of(least, cost);
    if (best.too_many() >= 2 * s.device_count()) return;
  }
  std::vector<tick> targets;
  for (pass const what : search.passes().what) targets.push_back(best.start_of(what));
  precedence_graph::device_orders const orders = in_start_order(search.passes().orders, targets);
  for (int i = 0; i < justifications && search.spent() < end && !search.is_over(); ++i)
    search.justify(orders, i == 0 ? justification_options{} : any_justification(search, 2));
}

}  // namespace ashlar
