// How late the transfers of a link may be before the step grows.
#pragma once

#include <ashlar/core/link_slack.hpp>
#include <ashlar/simulate/simulate.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Every link that a transfer takes, by sender and receiver. A delay of one more than its slack makes the
// step longer, if all other links are as they are. The orders of lanes are fixed, so a longer transfer
// never makes anything start sooner, and bisection finds the delay: O(links x log(makespan)) times
// time_program(). Throws as time_program() does.
constexpr std::vector<link_slack> link_slacks(program const& p, simulation_options o) {
  tick const makespan = time_program(p, o).makespan;
  std::vector<link_slack> all;
  for (int d = 0; d < p.device_count(); ++d) {
    std::size_t const own = all.size();
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
      instruction const& sent = nth(p.instructions, i);
      if (sent.code != opcode::send) continue;
      std::size_t at = own;
      while (at < all.size() && all[at].to < sent.peer) ++at;
      if (at == all.size() || all[at].to != sent.peer)
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), {d, sent.peer});
      ++all[at].transfers;
    }
  }
  for (link_slack& link : all) {
    interconnect const usual = o.cost.on.links;
    tick too_much = makespan + 1;  // the step would be longer than this transfer alone
    while (link.slack + 1 < too_much) {
      tick const middle = link.slack + (too_much - link.slack) / 2;
      o.cost.on.links = usual;
      delay_link(o.cost.on.links, link.from, link.to, middle);
      (time_program(p, o).makespan > makespan ? too_much : link.slack) = middle;
    }
    o.cost.on.links = usual;
  }
  return all;
}

}  // namespace ashlar
