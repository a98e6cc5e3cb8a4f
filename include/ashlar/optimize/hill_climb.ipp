// Definitions of hill_climb.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/optimize/hill_climb.hpp>

#include <array>
#include <utility>

namespace ashlar {

ASHLAR_INLINE objective_value full_evaluation::operator()(candidate const& k) {
  tick cutoff = max_tick;
  if (prunes_ && search_->found()) {
    tick const best = search_->judge(search_->best()).first;
    cutoff = best + best / 64;
  }
  return search_->justify(orders_of_blocks(k.tracks, search_->of(), search_->passes()), k.how, cutoff);
}

ASHLAR_INLINE delay_block start_of_hill_climb(justifier& search, memory_limit const& limit,
                                              std::size_t round) {
  schedule const& s = search.of();
  tick const work = work_of_one(s);
  dynamic_array<std::size_t> const leg = legs_of(s.where);
  constexpr std::array<tick, 3> sixths{3, 1, 0};
  delay_block b(static_cast<int>(leg.back()) + 1, max_of<tick>(work, 1));
  for (std::size_t l = 0; l < b.weight.size(); ++l)
    b.forward_hop[l] = b.backward_hop[l] =
        sixths[round % 3] * work / (l + 1 < b.weight.size() || l == 0 ? 6 : 18);
  if (round % 2 == 0) return b;
  offsets_of_stages const at(b, leg, s, false);
  for (int d = 0; d < s.device_count(); ++d) {
    double held = 0;  // bytes times ticks are more than 64 bits have room for
    for (int stage = 0; stage < s.stage_count(); ++stage)
      if (s.where.device_of(0, stage) == d) {
        auto const i = static_cast<std::size_t>(stage);
        held += static_cast<double>(at.weight[i] + mean_length(s, pass_kind::backward_weight, stage, d)
                                    - at.forward[i])
                * static_cast<double>(limit.memory.of(stage).kept_by_forward());
      }
    byte_count const room = limit.free_on(s.where, d);
    if (room > 0)
      b.period = max_of(b.period, static_cast<tick>(min_of(held / static_cast<double>(room), 0x1p62)));
  }
  return b;
}

ASHLAR_INLINE candidate neighbour(justifier& search, candidate k, tick work) {
  constexpr std::size_t most_tracks = 3;
  tick const reach = max_of<tick>(work * 3 / 20, 2);
  std::size_t const kind = search.random(std::size_t{20});
  if (kind == 0) {
    if (k.tracks.size() < most_tracks)
      k.tracks.push_back(k.tracks[0]);
    else
      k.tracks.resize(1, k.tracks[0]);
  }
  if (kind < 11) {
    for (std::size_t changes = 1 + search.random(std::size_t{2}); changes > 0; --changes) {
      delay_block& b = k.tracks[search.random(k.tracks.size())];
      std::size_t const which = search.random(b.size());
      b[which] = max_of(which == 0 ? work : 0, b[which] + search.random(-reach, reach));
    }
  } else {
    std::size_t const which = search.random(std::size_t{search.passes().late_gives.empty() ? 5U : 6U});
    dispatch_rule const rule = any_dispatch_rule(search);
    if (which == 0) k.how.at_first = rule;
    if (which == 1) k.how.backward = rule;
    if (which == 2) k.how.forward = rule;
    if (which == 3) k.how.skewed = !k.how.skewed;
    if (which == 4) k.how.rounds = 1 + static_cast<int>(search.random(std::size_t{4}));
    if (which == 5) k.how.holds = !k.how.holds;
  }
  return k;
}

ASHLAR_INLINE void hill_climb(justifier& search, memory_limit const& limit,
                              function_ref<objective_value(candidate const&)> evaluate,
                              std::int64_t share, std::vector<candidate>& tops) {
  constexpr std::size_t most_tops = 12;
  constexpr int most_idle = 100;
  tick const work = work_of_one(search.of());
  for (std::size_t round = 0; !search.is_over(share); ++round) {
    candidate now{{start_of_hill_climb(search, limit, round)}, any_justification(search, 2)};
    if (round % 2 == 1 && !tops.empty()) {
      now = tops[search.random(tops.size())];
    } else if (round > 5) {
      delay_block& b = now.tracks[0];
      for (std::size_t i = 0; i < b.size(); ++i)
        if (search.random(std::size_t{2}) == 0)
          b[i] = max_of(i == 0 ? work : 0, b[i] + search.random(-work / 2, work / 2));
    }
    now.reached = evaluate(now);
    for (int idle = 0; idle < most_idle && !search.is_over(share); ++idle) {
      candidate next = neighbour(search, now, work);
      next.reached = evaluate(next);
      if (next.reached > now.reached) continue;
      if (next.reached < now.reached) idle = 0;
      now = std::move(next);
    }
    auto at = tops.begin();
    while (at != tops.end() && at->reached < now.reached) ++at;
    if (at == tops.end() || at->reached != now.reached) tops.insert(at, std::move(now));
    if (tops.size() > most_tops) tops.pop_back();
  }
}

}  // namespace ashlar
