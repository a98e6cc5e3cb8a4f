// Definitions of csv_routes.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/csv_routes.hpp>
#include <ashlar/program/names.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace ashlar::csv_detail {

ASHLAR_INLINE bool numbers_are_plausible(csv_tokens const& tokens, csv_problems& problems) {
  auto const stage_count = static_cast<std::size_t>(tokens.stage_count);
  auto const m = static_cast<std::size_t>(tokens.micro_batch_count);
  constexpr std::size_t harmless = 100'000;
  if (stage_count * m <= std::max(tokens.count, harmless)) return true;
  std::string const have = ", and the file has only " + std::to_string(tokens.count);
  for (std::size_t d = 0; d < tokens.lines.size(); ++d)
    for (csv_token const& t : tokens.lines[d]) {
      if (!t.computes()) continue;
      bool const stage = t.what.stage + 1 == tokens.stage_count,
                 micro_batch = t.what.micro_batch + 1 == tokens.micro_batch_count;
      if (!(stage_count >= m ? stage : micro_batch)) continue;
      problems.add(
          tokens.at(d, t), rule::every_pass_is_present,
          std::to_string(stage_count) + " stages and " + std::to_string(m)
              + " micro-batches take at least "
              + std::to_string((tokens.mode == execution_mode::training ? 2 : 1) * stage_count * m)
              + " passes" + have);
      return false;
    }
  return false;
}

// The file does not give the number of micro-batches. The stage with the most forwards or backwards
// determines it, provided that at most one is lost or renamed.
ASHLAR_INLINE void find_unknown(csv_tokens const& tokens, csv_problems& problems) {
  std::vector<int> forwards(static_cast<std::size_t>(tokens.stage_count), 0), backwards = forwards;
  int most = 0;
  for (auto const& line : tokens.lines)
    for (csv_token const& t : line) {
      if (!t.computes()) continue;
      auto const stage = static_cast<std::size_t>(t.what.stage);
      if (t.what.kind == pass_kind::forward) most = std::max(most, ++forwards[stage]);
      if (gives_input_gradient(t.what.kind)) most = std::max(most, ++backwards[stage]);
    }
  for (std::size_t d = 0; d < tokens.lines.size(); ++d)
    for (csv_token const& t : tokens.lines[d])
      if (t.computes() && t.what.micro_batch >= most)
        problems.add(tokens.at(d, t), rule::every_pass_is_known,
                     "no stage runs more than " + std::to_string(most)
                         + " micro-batches, so the last should be " + std::to_string(most - 1));
}

ASHLAR_INLINE void enter(csv_tokens const& tokens, csv_table& table, csv_problems& problems) {
  std::vector<csv_entry> owner(static_cast<std::size_t>(tokens.stage_count)
                               * static_cast<std::size_t>(tokens.micro_batch_count));
  for (std::size_t d = 0; d < tokens.lines.size(); ++d)
    for (std::size_t i = 0; i < tokens.lines[d].size(); ++i) {
      csv_token const& t = tokens.lines[d][i];
      if (!t.computes()) continue;
      pass const what = t.what;
      csv_entry& first =
          owner[static_cast<std::size_t>(what.micro_batch) * static_cast<std::size_t>(tokens.stage_count)
                + static_cast<std::size_t>(what.stage)];
      csv_entry const self{static_cast<int>(d), static_cast<int>(i), what.kind};
      csv_entry& entry = table.at(what.micro_batch, what.stage, result_of(what.kind));
      csv_entry const weight = table.at(what.micro_batch, what.stage, result::weight_gradient);
      auto const place = [&](csv_entry const& e) {
        return tokens.place_of({.device = e.device, .index = e.index});
      };
      if (entry.device >= 0 && entry.kind == what.kind)
        problems.add(tokens.at(d, t), rule::no_pass_is_doubled,
                     "this one is there before: " + place(entry));
      else if (entry.device >= 0)
        problems.add(tokens.at(d, t), rule::backward_is_fused_or_split, "there is " + place(entry));
      else if (what.kind == pass_kind::backward && weight.device >= 0)
        problems.add(tokens.at(d, t), rule::backward_is_fused_or_split, "there is " + place(weight));
      else if (first.device >= 0 && first.device != self.device)
        problems.add(tokens.at(d, t), rule::every_stage_has_one_owner, "there is " + place(first));
      if (entry.device < 0) entry = self;
      if (first.device < 0) first = self;
      if (problems.full()) return;
    }
}

ASHLAR_INLINE void find_missing(csv_tokens const& tokens, csv_table& table, csv_problems& problems) {
  for (int k = 0; k < tokens.micro_batch_count; ++k)
    for (int stage = 0; stage < tokens.stage_count && !problems.full(); ++stage) {
      csv_entry const forward = table.at(k, stage, result::activation),
                      input = table.at(k, stage, result::input_gradient),
                      weight = table.at(k, stage, result::weight_gradient),
                      again = table.at(k, stage, result::recomputed);
      int device = -1;
      for (csv_entry const& e : {forward, input, weight, again})
        device = e.device >= 0 ? e.device : device;
      auto const miss = [&](pass_kind kind, char const* note) {
        problems.add({device + 1, 0, to_string(pass{kind, stage, k}), ""}, rule::every_pass_is_present,
                     std::string("this one is missing") + note);
      };
      // If the stage is nowhere, the problem goes to the line of its other micro-batches.
      for (int other = 0; other < tokens.micro_batch_count && device < 0; ++other)
        device = table.at(other, stage, result::activation).device;
      if (device < 0) device = 0;
      if (forward.device < 0) miss(pass_kind::forward, "");
      if (tokens.mode == execution_mode::inference) continue;
      if (input.device < 0 && weight.device < 0) miss(pass_kind::backward, " (or its two parts)");
      if (input.device < 0 && weight.device >= 0) miss(pass_kind::backward_input, "");
      if (input.device >= 0 && input.kind == pass_kind::backward_input && weight.device < 0)
        miss(pass_kind::backward_weight, "");
      // Skipped if it was reported when the later of the two was read.
      if (input.device >= 0 && input.kind == pass_kind::backward && weight.device >= 0
          && problems.none()) {
        site const at{.device = weight.device, .index = weight.index};
        problems.add(tokens.at(at), rule::backward_is_fused_or_split,
                     "there is " + tokens.place_of({.device = input.device, .index = input.index}));
      }
    }
}

}  // namespace ashlar::csv_detail

namespace ashlar {

ASHLAR_INLINE csv_routes find_csv_routes(csv_tokens const& tokens, csv_problems& problems) {
  csv_routes found;
  if (!csv_detail::numbers_are_plausible(tokens, problems)) return found;
  csv_detail::csv_table table(tokens.stage_count, tokens.micro_batch_count, {});
  csv_detail::find_unknown(tokens, problems);
  if (!problems.none()) return found;
  csv_detail::enter(tokens, table, problems);
  if (!problems.full()) csv_detail::find_missing(tokens, table, problems);
  if (!problems.none()) return found;
  std::map<std::vector<int>, int> number_of;
  for (int k = 0; k < tokens.micro_batch_count; ++k) {
    std::vector<int> route;
    for (int stage = 0; stage < tokens.stage_count; ++stage)
      route.push_back(table.at(k, stage, result::activation).device);
    auto const [known, is_new] = number_of.try_emplace(route, static_cast<int>(found.routes.size()));
    if (is_new) {
      if (found.routes.size() == tokens.lines.size()) {
        problems.add({1, 0, "", ""}, "there must be no more routes than devices, but micro-batches 0 to "
                                         + std::to_string(k) + " take "
                                         + std::to_string(found.routes.size() + 1));
        return found;
      }
      found.routes.push_back(route);
    }
    found.route.push_back(known->second);
  }
  return found;
}

}  // namespace ashlar
