// Definitions of needs.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/render/needs.hpp>
#include <ashlar/schedule/tables.hpp>

namespace ashlar {

ASHLAR_INLINE std::vector<needing_pass> needs_of(schedule const& s) {
  must_have_form(s);
  constexpr auto nobody = static_cast<std::size_t>(-1);
  std::vector<needing_pass> all;
  pass_table<std::size_t> giver(s.stage_count(), s.micro_batch_count(), s.work.view(), nobody);
  for (std::size_t d = 0; d < s.order.size(); ++d)
    for (timed_pass const t : each_pass(s.order[d])) {
      giver.at(t.what) = all.size();
      all.push_back({t.what, static_cast<int>(d), t.start, s.end_of(t, static_cast<int>(d)), {}});
    }
  for (needing_pass& p : all) {
    for_each_input(s.graph, p.what, [&](result r, int stage, int micro_batch) {
      std::size_t const from = giver.at(micro_batch, stage, r);
      if (from != nobody) p.needs.push_back(from);
    });
    for_each_work_input(s.work.view(), p.what, [&](pass what, tick) {
      if (std::size_t const from = giver.at(what); from != nobody) p.needs.push_back(from);
    });
  }
  return all;
}

}  // namespace ashlar
