// Definitions of pytorch_csv.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/csv_routes.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::csv_detail {

// The token of a pass of the schedule. The index of `s` is the pass's slot.
ASHLAR_INLINE site token_of(csv_tokens const& tokens, site s) {
  auto const& line = nth(tokens.lines, s.device);
  int slot = -1;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i == 0 || !line[i - 1].overlaps_next) ++slot;
    if (slot != s.index || line[i].what != s.what) continue;
    s.index = static_cast<int>(i);
    break;
  }
  return s;
}

// Adds the reason why the passes cannot be timed in their order.
ASHLAR_INLINE void add_untimed(csv_tokens const& tokens, diagnosis const& d, csv_problems& problems) {
  auto const has_place = [](site const& s) { return s.device >= 0 && s.index >= 0; };
  csv_problem at = has_place(d.first) ? tokens.at(token_of(tokens, d.first)) : csv_problem{};
  if (d.broken == rule::order_has_no_cycle && has_place(d.first) && has_place(d.second))
    return problems.add(at, d.broken,
                        at.token + " and " + tokens.place_of(token_of(tokens, d.second))
                            + " wait for each other in a cycle, so that none of them can start");
  at.broken = d.broken;
  problems.add(at, explain(d));
}

}  // namespace ashlar::csv_detail

namespace ashlar {

ASHLAR_INLINE std::string pytorch_csv(schedule const& s, csv_dialect dialect) {
  bool const old = dialect == csv_dialect::b_bw;
  std::string text;
  for (auto const& order : s.order) {
    time_slot const* before = nullptr;
    for (timed_pass const t : each_pass(order)) {
      pass const what = t.what;
      // There is no word for a pair with an input or a weight pass, so these are written one after
      // the other.
      bool const has_word = t.slot->is_pair() && t.slot->beside.kind == pass_kind::backward,
                 is_second = t.slot == before;
      if (before != nullptr) text += is_second && has_word ? ';' : ',';
      if (has_word && !is_second) text += '(';
      if (old && gives_input_gradient(what.kind))
        text += std::to_string(what.stage) + (what.kind == pass_kind::backward ? "BW" : "B")
                + std::to_string(what.micro_batch);
      else
        text += to_string(what);
      if (has_word && is_second) text += ")OVERLAP_F_B";
      before = t.slot;
    }
    text += '\n';
  }
  return text;
}

ASHLAR_INLINE csv_schedule read_pytorch_csv(csv_tokens const& tokens, csv_problems& problems) {
  csv_schedule out;
  for (std::size_t d = 0; d < tokens.lines.size(); ++d)
    for (std::size_t i = 0; i < tokens.lines[d].size(); ++i) {
      csv_token const& t = tokens.lines[d][i];
      if (!t.computes())
        problems.add(tokens.at(d, t), "a compute-only file must hold passes only, this is an action");
      if (t.overlaps_next && t.what.stage == tokens.lines[d][i + 1].what.stage
          && t.what.micro_batch == tokens.lines[d][i + 1].what.micro_batch)
        problems.add(tokens.at(d, t), rule::no_pass_starts_before_its_input,
                     "the other pass of its pair needs it");
    }
  if (problems.none())
    if (csv_routes const found = find_csv_routes(tokens, problems); problems.none()) {
      schedule s = schedule_without_passes(
          placement(devices{static_cast<int>(tokens.lines.size())}, found.routes), found.route);
      for (std::size_t d = 0; d < tokens.lines.size(); ++d) {
        bool in_pair = false;
        for (csv_token const& t : tokens.lines[d]) {
          if (in_pair)
            s.order[d].back().beside = t.what;
          else
            s.order[d].push_back({t.what});
          in_pair = t.overlaps_next;
        }
      }
      s.mode = tokens.mode;
      if (diagnosis const d = order_walk(s).run(); !d.ok())
        csv_detail::add_untimed(tokens, d, problems);
      else
        out.value = std::move(s);
    }
  out.problems = problems.take();
  return out;
}

ASHLAR_INLINE csv_schedule read_pytorch_csv(std::string_view text, csv_options const& options) {
  csv_problems problems(options.most_problems);
  csv_tokens const tokens = read_csv_tokens(text, options, problems);
  if (problems.none()) return read_pytorch_csv(tokens, problems);
  return {.value = {}, .problems = problems.take()};
}

}  // namespace ashlar
