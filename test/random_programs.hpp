// Random schedules with graphs, sequences in chunks and work, and random values that leave for hosts.
#pragma once

#include "random.hpp"
#include <ashlar/conformance/random_schedule.hpp>
#include <ashlar/conformance/random_work.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstdint>

namespace random_case {

// Makes `in_chunks` percent of those without a graph as conformance::random_schedule does.
inline schedule random_schedule_to_lower(dice& d, int in_chunks) {
  auto const number = static_cast<std::uint64_t>(d.between(0, 1 << 30));
  if (d.percent(15)) return conformance::random_graph_schedule(number);
  if (d.percent(in_chunks)) return conformance::random_schedule(number, d.between(1, 3));
  block const b = random_block(d);
  schedule const s = squeeze(repeat(b, random_count(d, b, 3)));
  return d.percent(30) ? conformance::with_random_work(s, number, d.between(1, 4)) : s;
}

inline offload_options random_offload(dice& d, schedule const& s) {
  offload_options offload;
  for (auto const& order : s.order)
    for (timed_pass const t : each_pass(order))
      if (t.what.kind == pass_kind::forward && d.percent(50)) offload.forwards.push_back(t.what);
  offload.copy = {d.between(0, 6)};
  return offload;
}

}  // namespace random_case
