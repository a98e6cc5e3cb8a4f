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
#include "report/comparison_report.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
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
void compare_with(compared_row& r, Schedule const& numbers) {
  try {
    r.numbers = numbers();
  } catch (ashlar::violation const& v) {
    if (v.why.broken != ashlar::rule::bound_is_for_a_chain) throw;
    r.refused =
        "its stages are not consecutive pieces of the model: some are shards of a layer, or beside each "
        "other";
  }
}

compared_row row_of(ashlar::catalog::entry const& e, compare_options const& o) {
  compared_row r{e.name, e.source};
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

compared_row row_of(chosen_schedule const& own, compare_options const& o) {
  compared_row r{own.name, own.about};
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
std::vector<compared_row> rows_of(CLI::App const& command, compare_options& o) {
  auto [own, known] = find_all(o.names, o.shape.m);
  adopt_size(command, own, o.shape.p, o.shape.m);
  if (known.empty())
    known.assign(ashlar::catalog::all_entries.begin(), ashlar::catalog::all_entries.end());
  must_have_effect(command, effects_of(command, o, own, known));
  must_have_effect(command, effects_of_theme(o.format));
  std::vector<compared_row> rows;
  phase_line at;
  auto const add = [&](auto const& schedule) {
    at.say(schedule.name);
    compared_row& r = rows.emplace_back(row_of(schedule, o));
    if (r.refused.empty()) r.least = ashlar::comparison_bound(r.numbers);
  };
  for (chosen_schedule const& s : own) add(s);
  for (ashlar::catalog::entry const* e : known) add(*e);
  at.end();
  time_scale const scale = scale_of(o.shape.cost);
  for (compared_row& r : rows) {
    for (double* time : {&r.numbers.makespan, &r.numbers.span, &r.numbers.exposed_communication})
      *time = scale.in_units(*time);
    if (std::optional<double>& time = r.numbers.makespan_of_parts) time = scale.in_units(*time);
    for (ashlar::compared_link& l : r.numbers.links) l.slack = scale.in_units(l.slack);
    if (r.least) r.least = {scale.in_units(r.least->makespan), scale.in_units(r.least->span)};
  }
  return rows;
}

std::string chart_of(std::vector<compared_row> const& rows, compare_options const& o) {
  std::vector<ashlar::compared_schedule> drawn;
  for (compared_row const& r : rows)
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
  std::vector<compared_row> const rows = rows_of(command, o);
  std::string const unit = scale_of(o.shape.cost).unit;
  if (o.format == "text")
    fmt::print("{}", text_of(rows, unit));
  else
    to.write(o.format == "csv"    ? csv_of(rows)
             : o.format == "json" ? dumped(json_of(rows, unit), 1) + "\n"
                                  : chart_of(rows, o));
  for (compared_row const& r : rows)
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
