// Definitions of csv_names.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/interop/csv_names.hpp>

#include <cstddef>
#include <map>
#include <string>

namespace ashlar::csv_detail {

ASHLAR_INLINE void for_each_place(csv_tokens const& tokens, csv_problems const& problems,
                                  function_ref<void(site, csv_token const&)> visit) {
  for (std::size_t d = 0; d < tokens.lines.size(); ++d)
    for (std::size_t i = 0; i < tokens.lines[d].size() && !problems.full(); ++i)
      visit(site{.device = static_cast<int>(d), .index = static_cast<int>(i)}, tokens.lines[d][i]);
}

ASHLAR_INLINE void find_second_owners(csv_tokens const& tokens, csv_problems& problems) {
  std::vector<site> first(static_cast<std::size_t>(tokens.stage_count));
  std::vector<bool> reported(first.size(), false);
  for_each_place(tokens, problems, [&](site here, csv_token const& t) {
    if (!t.computes()) return;
    auto const stage = static_cast<std::size_t>(t.what.stage);
    if (first[stage].device < 0) first[stage] = here;
    if (first[stage].device == here.device || reported[stage]) return;
    reported[stage] = true;
    problems.add(tokens.at(here), rule::every_stage_has_one_owner,
                 "there is " + tokens.place_of(first[stage]));
  });
}

ASHLAR_INLINE void find_unknown_names(csv_tokens const& tokens, std::vector<int> const& owner,
                                      csv_problems& problems) {
  auto const exists = [&](int stage) { return stage >= 0 && stage < tokens.stage_count; };
  for_each_place(tokens, problems, [&](site here, csv_token const& t) {
    auto const complain = [&](rule broken, std::string const& but) {
      problems.add(tokens.at(here), broken, but);
    };
    if (t.what.kind == pass_kind::recompute)
      complain(rule::every_pass_is_known, "PyTorch has no recompute pass");
    else if (!exists(t.what.stage) || t.what.micro_batch >= tokens.micro_batch_count)
      complain(rule::every_pass_is_known, "there are " + std::to_string(tokens.stage_count)
                                              + " stages and " + std::to_string(tokens.micro_batch_count)
                                              + " micro-batches");
    else if (int const line = nth(owner, t.what.stage); line != here.device)
      complain(rule::every_stage_has_one_owner, "the passes of stage " + std::to_string(t.what.stage)
                                                    + " are on line " + std::to_string(line + 1));
    else if (t.moves() && !exists(t.other_stage()))
      complain(rule::every_pass_is_known, std::string("there is no stage ")
                                              + (t.receives() ? "before" : "after")
                                              + " it in this direction");
  });
}

ASHLAR_INLINE void find_lost_waits(csv_tokens const& tokens, csv_problems& problems) {
  struct start {
    site where;
    bool waited = false;
  };
  std::map<std::string, start> started;  // by name
  for_each_place(tokens, problems, [&](site here, csv_token const& t) {
    if (t.sends() || t.action() == csv_action::reduce_grad) started[to_string(t)] = {here};
    if (!t.waits()) return;
    std::string const name = to_string(t.awaited());
    auto const found = started.find(name);
    if (found == started.end())
      problems.add(tokens.at(here), rule::every_start_has_its_wait, "no " + name + " is before it");
    else if (found->second.waited)
      problems.add(tokens.at(here), rule::every_start_has_its_wait,
                   "this is the second wait for " + tokens.place_of(found->second.where));
    else
      found->second.waited = true;
  });
  for (auto const& [name, s] : started)
    if (!s.waited) problems.add(tokens.at(s.where), rule::every_start_has_its_wait, "this one never is");
}

}  // namespace ashlar::csv_detail
