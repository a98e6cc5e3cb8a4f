// PyTorch's compute-only CSV: a line a device, the device's passes in order, separated by commas:
// 0F0,0F1,0B0,...
//
// What is read must be exactly that: tokens of digits, one of F I W B R, digits; no blanks, no quotes,
// no comments, no empty line, no empty cell. Lines may end in LF or CRLF; the last may lack its end.
#pragma once

#include <ashlar/interop/csv_routes.hpp>
#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/render/token.hpp>
#include <ashlar/squeeze.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar {

inline std::string pytorch_csv(schedule const& s) {
  std::string text;
  for (auto const& order : s.order) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0) text += ',';
      text += to_string(order[i].what);
    }
    text += '\n';
  }
  return text;
}

struct csv_schedule {
  std::optional<schedule> value;      // squeezed under unit costs; if there is no problem
  std::vector<csv_problem> problems;  // the first few
};

// Reads a schedule and checks it: passes known, each there once, on one route a micro-batch, without a
// circle. The routes are found by grouping the micro-batches by the lines that their stages stand on.
// Linear in the text (times the routes).
inline csv_schedule read_pytorch_csv(std::string_view text, csv_options const& options = {}) {
  csv_schedule out;
  csv_problems problems(options.most_problems);
  csv_tokens const tokens = read_csv_tokens(text, options, problems);
  if (problems.none()) {
    csv_routes const found = find_csv_routes(tokens, problems);
    if (problems.none()) {
      std::vector<std::vector<pass>> orders;
      for (auto const& line : tokens.lines) {
        auto& order = orders.emplace_back();
        for (csv_token const& t : line) order.push_back(t.what);
      }
      schedule s =
          schedule_from_orders(placement(devices{static_cast<int>(orders.size())}, found.routes),
                               found.route, costs{}, orders);
      if (diagnosis const d = order_walk(s).run(); !d.ok())
        problems.add(tokens.at(d.first),
                     "this pass and " + tokens.place_of(d.second)
                         + " wait for each other in a circle, so that none of them can start");
      else
        out.value = std::move(s);
    }
  }
  out.problems = problems.take();
  return out;
}

}  // namespace ashlar
