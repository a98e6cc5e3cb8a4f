#include "report/comparison_report.hpp"

#include "report/counted.hpp"
#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace tool {

using ashlar::compared_bound;

namespace {

std::string peaks_of(ashlar::comparison const& c) {
  auto const [least, most] = std::minmax_element(c.peaks.begin(), c.peaks.end());
  return *least == *most ? percent(*most, 1) : percent(*least, 1) + "-" + percent(*most, 1);
}

// The slacks of the link that tolerates least, and of the one that tolerates most.
std::pair<double, double> slacks_of(ashlar::comparison const& c) {
  auto const [least, most] = std::minmax_element(
      c.links.begin(), c.links.end(), [](auto const& a, auto const& b) { return a.slack < b.slack; });
  return c.links.empty() ? std::pair(0.0, 0.0) : std::pair(least->slack, most->slack);
}

std::string slack_words(ashlar::comparison const& c) {
  if (c.links.empty()) return "-";
  auto const [least, most] = slacks_of(c);
  return least == most ? readable(most) : readable(least) + "-" + readable(most);
}

}  // namespace

std::string text_of(std::vector<compared_row> const& rows, std::string const& unit) {
  bool const has_parts = std::any_of(rows.begin(), rows.end(), [](compared_row const& r) {
    return r.numbers.makespan_of_parts.has_value();
  });
  std::vector<std::vector<std::string>> cells{
      {"schedule", "devices", "stages", "makespan", "bound", "gap %", "span", "bound", "gap %",
       "overhead %", "of span %", "activations %", "weights", "transfers", "exposed", "slack"}};
  if (has_parts) cells[0].emplace_back("of parts");
  for (compared_row const& r : rows) {
    if (!r.refused.empty()) continue;
    auto const& c = r.numbers;
    auto const least = [&](double compared_bound::*which) {
      return r.least ? readable(*r.least.*which) : "-";
    };
    auto const gap_to = [&](double reached, double compared_bound::*which) {
      return r.least ? percent(proved_gap(reached, *r.least.*which), 1) : "-";
    };
    cells.push_back({r.name, std::to_string(c.device_count), std::to_string(c.stage_count),
                     readable(c.makespan), least(&compared_bound::makespan),
                     gap_to(c.makespan, &compared_bound::makespan), readable(c.span),
                     least(&compared_bound::span), gap_to(c.span, &compared_bound::span),
                     percent(proved_share(c.overhead), 1), percent(proved_share(c.overhead_span), 1),
                     peaks_of(c), fmt::format("{:g}", c.weight_copies), std::to_string(c.transfers),
                     readable(c.exposed_communication), slack_words(c)});
    if (has_parts) cells.back().push_back(c.makespan_of_parts ? readable(*c.makespan_of_parts) : "-");
  }
  std::string text = table(cells, 1);
  for (compared_row const& r : rows) {
    if (!r.refused.empty()) text += fmt::format("{}: {}\n", r.name, r.refused);
    if (!r.remark.empty()) text += fmt::format("{}: {}\n", r.name, r.remark);
  }
  std::string const of_parts =
      " Of parts: the makespan if a\ndevice exchanges for one pass while it computes for the next; the "
      "bounds are for devices that do not.";
  text += fmt::format(
      "\nTimes are in {}, for costs of a p-th of the model. Bound: no schedule of the same stages on "
      "the "
      "same devices\nand with the same memory takes less; gap: by how much of it this one takes more. "
      "Overhead: the share of the\nmakespan in which the busiest device does not do the model's work: "
      "it "
      "idles or recomputes. Activations: the\nmost that a device holds, as a share of 1F1B's; weights: "
      "copies of the model; exposed: makespan that\ntransfers add; slack: by how much all transfers of "
      "a "
      "link may be later before the makespan grows, of the\nlink with the least and the one with the "
      "most (--as json: of each).{}\n",
      unit.empty() ? "ticks" : unit, has_parts ? of_parts : "");
  return text;
}

nlohmann::json json_of(std::vector<compared_row> const& rows, std::string const& unit) {
  nlohmann::json all = nlohmann::json::array();
  for (compared_row const& r : rows) {
    auto const& c = r.numbers;
    if (!r.refused.empty()) {
      all.push_back({{"schedule", r.name}, {"refused", r.refused}});
    } else {
      auto& object =
          all.emplace_back(nlohmann::json{{"schedule", r.name},
                                          {"source", r.source},
                                          {"devices", c.device_count},
                                          {"stages", c.stage_count},
                                          {"micro_batches", c.micro_batch_count},
                                          {"makespan", c.makespan},
                                          {"span", c.span},
                                          {"overhead", proved_share(c.overhead)},
                                          {"overhead_span", proved_share(c.overhead_span)},
                                          {"bubble_rate", proved_share(c.bubble_rate)},
                                          {"bubble_rate_span", proved_share(c.bubble_rate_span)},
                                          {"peak_activations", c.peaks},
                                          {"weight_copies", c.weight_copies},
                                          {"transfers", c.transfers},
                                          {"exposed_communication", c.exposed_communication}});
      auto& links = object["slack"] = nlohmann::json::array();
      for (ashlar::compared_link const& l : c.links)
        links.push_back(
            {{"from", l.from}, {"to", l.to}, {"transfers", l.transfers}, {"slack", l.slack}});
      if (!unit.empty()) object["time_unit"] = unit;
      if (c.makespan_of_parts) object["makespan_of_parts"] = *c.makespan_of_parts;
      if (!r.least) continue;
      object["makespan_bound"] = r.least->makespan;
      object["span_bound"] = r.least->span;
      object["makespan_gap"] = proved_gap(c.makespan, r.least->makespan);
      object["span_gap"] = proved_gap(c.span, r.least->span);
    }
  }
  return all;
}

std::string csv_of(std::vector<compared_row> const& rows) {
  std::string text =
      "schedule,devices,stages,micro_batches,makespan,span,bubble_rate,bubble_rate_span,"
      "least_peak_activations,most_peak_activations,weight_copies,transfers,exposed_communication,"
      "makespan_bound,makespan_gap,span_bound,span_gap,overhead,overhead_span,least_slack,"
      "most_slack,makespan_of_parts\n";
  for (compared_row const& r : rows) {
    if (!r.refused.empty()) continue;
    auto const& c = r.numbers;
    auto const [least, most] = std::minmax_element(c.peaks.begin(), c.peaks.end());
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_field(r.name), c.device_count,
                        c.stage_count, c.micro_batch_count, c.makespan, c.span, c.bubble_rate,
                        c.bubble_rate_span, *least, *most, c.weight_copies, c.transfers,
                        c.exposed_communication);
    text += r.least ? fmt::format(",{},{},{},{}", r.least->makespan,
                                  proved_gap(c.makespan, r.least->makespan), r.least->span,
                                  proved_gap(c.span, r.least->span))
                    : ",,,,";
    text += fmt::format(",{},{}", c.overhead, c.overhead_span);
    auto const [least_slack, most_slack] = slacks_of(c);
    text += c.links.empty() ? ",," : fmt::format(",{},{}", least_slack, most_slack);
    text += c.makespan_of_parts ? fmt::format(",{}\n", *c.makespan_of_parts) : ",\n";
  }
  return text;
}

}  // namespace tool
