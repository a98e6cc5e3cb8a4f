// ashlar compare: all schedules, or some, side by side on the same model and devices.
#include "command.hpp"
#include "files/files.hpp"
#include "options/effects.hpp"
#include "options/layout_options.hpp"
#include "options/link_option.hpp"
#include "options/output_options.hpp"
#include "options/placement_name.hpp"
#include "options/shape_options.hpp"
#include "options/theme_option.hpp"
#include "report/certificates.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include "report/terminal.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/render/comparison.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/study/compare.hpp>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using ashlar::compared_bound;

struct compare_options {
  std::vector<std::string> names;
  shape_options shape;
  late_links late;  // their delays are among `shape.cost.others`
  std::string checkpoint = "6%";
  std::string format = "text";
  ashlar::picture_theme theme = ashlar::picture_theme::follow_reader;
  std::string output = "-";
  std::string certificate = {};
};

// A row of the table. A schedule that does not exist for this size has the reason in place of its
// numbers.
struct row {
  std::string name, source;
  ashlar::comparison numbers = {};
  std::optional<ashlar::compared_bound> least = {};
  std::string refused = {};
  std::string remark = {};
};

// The model without the late links that `device_count` devices do not have.
ashlar::divided_model model_of(compare_options const& o, int device_count) {
  must_be_taken(o.late, [&o](int from, int to) {
    return from != to && std::min(from, to) >= 0 && std::max(from, to) < o.shape.p;
  });
  late_links late = o.late;
  std::erase_if(late.links, [device_count](auto const& link) {
    return std::max(link.first, link.second) >= device_count;
  });
  ashlar::costs cost = costs_of(o.shape.cost, o.shape.p, o.shape.m);
  delay_links(cost.on.links, late, o.shape.cost.others, scale_of(o.shape.cost));
  return {.cost = cost,
          .piece_count = static_cast<int>(o.shape.p),
          .kept_percent = percent_kept("--checkpoint", o.checkpoint),
          .causal = causal_share_of(o.shape.cost.causal),
          .parts = parts_of(o.shape.cost)};
}

std::string placement_word(ashlar::placement const& where) {
  return where.device_count() == 1 ? "one device" : placement_name(where);
}

// Why --speeds do not suit `devices` devices; empty if they do, or none are given.
std::string refused_speeds(compare_options const& o, int devices) {
  auto const given = static_cast<int>(o.shape.cost.speeds.size());
  if (given == 0 || given == devices) return {};
  return fmt::format("has {}, but --speeds are of {}", counted(devices, "device"), given);
}

// A row with the numbers, or with the reason why there are none.
template <class Schedule>
void compare_with(row& r, Schedule const& numbers) {
  try {
    r.numbers = numbers();
  } catch (ashlar::violation const& v) {
    if (v.why.broken != ashlar::rule::bound_is_for_a_chain) throw;
    r.refused =
        "its stages are not consecutive pieces of the model: some are shards of a layer, or beside each "
        "other";
  }
}

row row_of(ashlar::catalog::entry const& e, compare_options const& o) {
  row r{e.name, e.source};
  shape_options alike = o.shape;  // the model has the costs
  alike.cost = {};
  ashlar::catalog::shape const shape = shape_of(e, alike);
  auto const d = e.check(shape);
  bool const tells_devices_apart = !o.late.links.empty() || !o.shape.cost.speeds.empty();
  int const devices = d.ok() && tells_devices_apart ? e.make(shape).device_count() : shape.p.value;
  if (!d.ok())
    r.refused = ashlar::explain(d);
  else if (std::string const few = refused_speeds(o, devices); !few.empty())
    r.refused = few;
  else if (std::string const why = refused_costs(e, shape, o.shape.cost); !why.empty())
    r.refused = why;
  else
    compare_with(r, [&] { return ashlar::compare(e, shape, model_of(o, devices)); });
  return r;
}

row row_of(chosen_schedule const& own, compare_options const& o) {
  row r{own.name, own.about};
  ashlar::divided_model const model = model_of(o, own.schedule.device_count());
  if (std::string const few = refused_speeds(o, own.schedule.device_count()); !few.empty())
    r.refused = few;
  else if (std::string const why = refused_costs(own.schedule, o.shape.m, o.shape.cost); !why.empty())
    r.refused = why;
  else
    compare_with(r, [&] { return ashlar::compare(own.schedule, model); });
  if (long long const m = micro_batches_of(own.schedule); m != o.shape.m)
    r.remark = fmt::format("is of {}, not {}", counted(m, "micro-batch"), o.shape.m);
  return r;
}

// Effects of the parameters and costs on the schedules as a whole.
std::vector<effect> effects_of(CLI::App const& command, compare_options const& o,
                               std::vector<chosen_schedule> const& own,
                               std::vector<ashlar::catalog::entry const*> const& known) {
  std::string const names = fmt::format("{}", fmt::join(o.names, ", "));
  std::vector<effect> all = effects_on(known, names);
  auto const asks = [&](char const* option) { return is_given(command, option); };
  if (o.names.empty() || !(asks("--overlapped") || asks("--checkpoint") || asks("--causal"))) return all;
  std::vector<ashlar::schedule> made;
  for (ashlar::catalog::entry const* const e : known) {
    ashlar::catalog::shape alike = shape_of(*e, o.shape);
    alike.cost = {};  // what is given is for pieces of the model, however many
    if (e->check(alike).ok()) made.push_back(e->make(alike));
  }
  std::vector<ashlar::schedule const*> each;
  for (chosen_schedule const& s : own) each.push_back(&s.schedule);
  for (ashlar::schedule const& s : made) each.push_back(&s);
  std::vector<effect> const more = effects_on(traits_of(each), names);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Your own schedules come first. They stand beside the whole catalog unless some of it is named; sizes
// that are not given are those of the first.
std::vector<row> rows_of(CLI::App const& command, compare_options& o) {
  auto [own, known] = find_all(o.names, o.shape.m);
  adopt_size(command, own, o.shape.p, o.shape.m);
  if (known.empty())
    known.assign(ashlar::catalog::all_entries.begin(), ashlar::catalog::all_entries.end());
  must_have_effect(command, effects_of(command, o, own, known));
  must_have_effect(command, effects_of_theme(o.format));
  std::vector<row> rows;
  phase_line at;
  auto const add = [&](auto const& schedule) {
    at.say(schedule.name);
    row& r = rows.emplace_back(row_of(schedule, o));
    if (r.refused.empty()) r.least = ashlar::comparison_bound(r.numbers);
  };
  for (chosen_schedule const& s : own) add(s);
  for (ashlar::catalog::entry const* e : known) add(*e);
  at.end();
  time_scale const scale = scale_of(o.shape.cost);
  for (row& r : rows) {
    for (double* time : {&r.numbers.makespan, &r.numbers.span, &r.numbers.exposed_communication})
      *time = scale.in_units(*time);
    if (std::optional<double>& time = r.numbers.makespan_of_parts) time = scale.in_units(*time);
    for (ashlar::compared_link& l : r.numbers.links) l.slack = scale.in_units(l.slack);
    if (r.least) r.least = {scale.in_units(r.least->makespan), scale.in_units(r.least->span)};
  }
  return rows;
}

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

void print_text(std::vector<row> const& rows, std::string const& unit) {
  bool const has_parts = std::any_of(
      rows.begin(), rows.end(), [](row const& r) { return r.numbers.makespan_of_parts.has_value(); });
  std::vector<std::vector<std::string>> cells{
      {"schedule", "devices", "stages", "makespan", "bound", "gap %", "span", "bound", "gap %",
       "overhead %", "of span %", "activations %", "weights", "transfers", "exposed", "slack"}};
  if (has_parts) cells[0].emplace_back("of parts");
  for (row const& r : rows) {
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
  fmt::print("{}", table(cells, 1));
  for (row const& r : rows) {
    if (!r.refused.empty()) fmt::print("{}: {}\n", r.name, r.refused);
    if (!r.remark.empty()) fmt::print("{}: {}\n", r.name, r.remark);
  }
  fmt::print(
      "\nTimes are in {}, for costs of a p-th of the model. Bound: no schedule of the same stages on "
      "the "
      "same devices\nand with the same memory takes less; gap: by how much of it this one takes more. "
      "Overhead: the share of the\nmakespan in which the busiest device does not do the model's work: "
      "it idles or recomputes. Activations: the\nmost that a device holds, as a share of 1F1B's; "
      "weights: copies of the model; exposed: makespan that\ntransfers add; slack: by how "
      "much all transfers of a link may be later before the makespan grows, of the\nlink with the least "
      "and the "
      "one with the most (--as json: of each).{}\n",
      unit.empty() ? "ticks" : unit,
      has_parts ? " Of parts: the makespan if a\ndevice exchanges for one pass while it computes for "
                  "the next; "
                  "the bounds are for devices that do not."
                : "");
}

nlohmann::json json_of(std::vector<row> const& rows, std::string const& unit) {
  nlohmann::json all = nlohmann::json::array();
  for (row const& r : rows) {
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

std::string csv_of(std::vector<row> const& rows) {
  std::string text =
      "schedule,devices,stages,micro_batches,makespan,span,bubble_rate,bubble_rate_span,"
      "least_peak_activations,most_peak_activations,weight_copies,transfers,exposed_communication,"
      "makespan_bound,makespan_gap,span_bound,span_gap,overhead,overhead_span,least_slack,"
      "most_slack,makespan_of_parts\n";
  for (row const& r : rows) {
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

std::string chart_of(std::vector<row> const& rows, compare_options const& o) {
  std::vector<ashlar::compared_schedule> drawn;
  for (row const& r : rows)
    if (r.refused.empty())
      drawn.push_back({r.name, r.numbers, r.least, placement_word(r.numbers.where)});
  return ashlar::svg(
      drawn,
      fmt::format("{} devices, {} micro-batches; {}", o.shape.p, o.shape.m, words_of(o.shape.cost)),
      o.theme);
}

int compare_all(CLI::App const& command, compare_options o) {
  if (o.format == "text" && o.output != "-")
    throw usage_error("the table as text goes to standard output; take --as csv for a file");
  output const to(o.output);
  certificates proofs(o.certificate);
  std::vector<row> const rows = rows_of(command, o);
  std::string const unit = scale_of(o.shape.cost).unit;
  if (o.format == "text")
    print_text(rows, unit);
  else
    to.write(o.format == "csv"    ? csv_of(rows)
             : o.format == "json" ? dumped(json_of(rows, unit), 1) + "\n"
                                  : chart_of(rows, o));
  for (row const& r : rows)
    if (r.refused.empty()) proofs.add(r.numbers, r.name, scale_of(o.shape.cost));
  return proofs.write();
}

}  // namespace

void add_compare(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("compare", "Put schedules side by side: time, bubbles, memory, transfers");
  auto const o = std::make_shared<compare_options>();
  command->add_option("names", o->names, "schedules: names from `ashlar list`, or files (default: all)")
      ->type_name("NAME");
  add_size_options(*command, o->shape);
  add_link_option(*command, o->late, o->shape.cost.others);
  command
      ->add_option("--checkpoint", o->checkpoint,
                   "share of an activation that a recomputing stage keeps, 0.06 or 6%")
      ->type_name("SHARE")
      ->capture_default_str();
  add_format_option(*command, o->format, {"text", "csv", "json", "svg"},
                    "text, csv, json, or svg: overhead against memory");
  add_theme_options(*command, o->theme);
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  command->footer(
      "Costs are those of a p-th of the model: a schedule with two stages per device has stages of half "
      "the cost, and\n"
      "the lines of --per-stage are consecutive parts of it. A FILE gets these costs in place of its "
      "own.\n"
      "Files are compared with the whole catalog, or with the schedules that are named.\n"
      "-p and -m are those of the first file unless they are given.");
  command->callback(
      [&chosen, command, o] { chosen = [command, o] { return compare_all(*command, *o); }; });
}

}  // namespace tool
