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

// Why the passes cannot be timed in their order.
ASHLAR_INLINE void add_untimed(csv_tokens const& tokens, diagnosis const& d, csv_problems& problems) {
  auto const has_place = [](site const& s) { return s.device >= 0 && s.index >= 0; };
  csv_problem at = has_place(d.first) ? tokens.at(d.first) : csv_problem{};
  if (d.broken == rule::order_has_no_cycle && has_place(d.first) && has_place(d.second))
    return problems.add(at, d.broken,
                        at.token + " and " + tokens.place_of(d.second)
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
    bool closes = false;
    for (std::size_t i = 0; i < order.size(); ++i) {
      pass const what = order[i].what;
      bool const opens = order[i].opens_pair() && order[i].beside == pass_kind::backward;
      if (i > 0) text += closes ? ';' : ',';
      if (opens) text += '(';
      if (old && gives_input_gradient(what.kind))
        text += std::to_string(what.stage) + (what.kind == pass_kind::backward ? "BW" : "B")
                + std::to_string(what.micro_batch);
      else
        text += to_string(what);
      if (closes) text += ")OVERLAP_F_B";
      closes = opens;
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
      std::vector<std::vector<pass>> orders;
      for (auto const& line : tokens.lines) {
        auto& order = orders.emplace_back();
        for (csv_token const& t : line) order.push_back(t.what);
      }
      schedule s =
          schedule_from_orders(placement(devices{static_cast<int>(orders.size())}, found.routes),
                               found.route, costs{}, orders);
      for (std::size_t d = 0; d < orders.size(); ++d)
        for (std::size_t i = 0; i + 1 < orders[d].size(); ++i)
          if (tokens.lines[d][i].overlaps_next) overlap(s.order[d][i], s.order[d][i + 1]);
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
