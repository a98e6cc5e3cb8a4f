#include "report/frontier_report.hpp"

#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include <ashlar/render/frontier.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace tool {

std::string text_of(std::vector<frontier_part> const& parts) {
  std::vector<std::vector<std::string>> cells{
      {"placement", "schedule", "activations", "memory %", "overhead %", "no less than %"}};
  auto const add = [&](frontier_part const& part, frontier_row const& r) {
    cells.push_back({part.name,
                     r.needed ? fmt::format("infeasible: needs at least {:g}", *r.needed) : r.schedule,
                     r.activations > 0 ? fmt::format("{:g}", r.activations) : "", percent(r.memory),
                     r.needed ? "" : percent(proved_share(r.overhead)),
                     r.least ? percent(proved_bound(r.overhead, *r.least)) : ""});
  };
  for (frontier_part const& part : parts) {
    for (frontier_row const& r : part.searched) add(part, r);
    for (frontier_row const& r : part.published) add(part, r);
  }
  return table(cells, 2)
         + "\nOverhead: the share of the span in which the busiest device idles or recomputes. Activations: the "
           "limit of a\nsearch, the peak of a published schedule; memory: as a share of what 1F1B holds; no less "
           "than: what any\nschedule within as many activations has.\n";
}

std::string csv_of(std::vector<frontier_part> const& parts) {
  std::string text = "placement,schedule,activations,memory,overhead_span,least_overhead_span\n";
  auto const add = [&](frontier_part const& part, frontier_row const& r) {
    text += fmt::format("{},{},{},{},{},{}\n", csv_quoted(part.name),
                        r.needed ? "infeasible" : csv_field(r.schedule),
                        r.activations > 0 ? fmt::format("{:g}", r.activations) : "", r.memory,
                        r.needed ? "" : fmt::format("{}", proved_share(r.overhead)),
                        r.least ? fmt::format("{}", proved_bound(r.overhead, *r.least)) : "");
  };
  for (frontier_part const& part : parts) {
    for (frontier_row const& r : part.searched) add(part, r);
    for (frontier_row const& r : part.published) add(part, r);
  }
  return text;
}

std::string json_of(std::vector<frontier_part> const& parts) {
  using nlohmann::ordered_json;
  ordered_json out = ordered_json::array();
  for (frontier_part const& part : parts) {
    ordered_json searched = ordered_json::array(), published = ordered_json::array();
    auto const row = [](char const* key, ordered_json const& name, frontier_row const& r) {
      return ordered_json{{key, name},
                          {"memory", r.memory},
                          {"overhead_span", proved_share(r.overhead)},
                          {"least_overhead_span", r.least ? ordered_json(*r.least) : ordered_json()}};
    };
    for (frontier_row const& r : part.searched)
      if (r.needed)
        searched.push_back({{"limit", r.activations},
                            {"memory", r.memory},
                            {"status", "infeasible"},
                            {"needs", *r.needed}});
      else
        searched.emplace_back(row("limit", r.activations, r))["status"] = "searched";
    for (frontier_row const& r : part.published) published.push_back(row("schedule", r.schedule, r));
    out.push_back({{"placement", part.name}, {"searched", searched}, {"published", published}});
  }
  return dumped(out, 1) + "\n";
}

std::string chart_of(std::vector<frontier_part> const& parts, std::string const& title,
                     ashlar::picture_theme theme) {
  std::vector<ashlar::frontier_curve> curves;
  for (frontier_part const& part : parts) {
    ashlar::frontier_curve c{part.name, {}, {}};
    for (frontier_row const& r : part.searched) {
      if (r.needed) continue;
      c.reached.emplace_back(r.memory, r.overhead);
      if (r.least) c.least.emplace_back(r.memory, *r.least);
    }
    for (frontier_row const& r : part.published)
      c.published.push_back({r.schedule, r.memory, r.overhead});
    if (!c.reached.empty() || !c.published.empty()) curves.push_back(std::move(c));
  }
  return ashlar::svg(curves, title, theme);
}

}  // namespace tool
