// ashlar frontier: what a limit on memory costs, placement by placement.
#include "command.hpp"
#include "files/files.hpp"
#include "options/effects.hpp"
#include "options/layout_options.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "options/shape_options.hpp"
#include "options/theme_option.hpp"
#include "report/certificates.hpp"
#include "report/counted.hpp"
#include "report/frontier_report.hpp"
#include "report/layout_names.hpp"
#include "report/search_run.hpp"
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/search/seeds.hpp>
#include <ashlar/study/compare.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tool {

namespace {

struct frontier_options {
  std::vector<std::string> names;
  named_schedules shown = {};  // what is named
  layout_options model;
  std::string from = "0.3";
  std::string to = "1";
  long long steps = 15;
  search_budget budget{.evaluations = 200};
  std::string format = "text";
  ashlar::picture_theme theme = ashlar::picture_theme::follow_reader;
  std::string output = "-";
  std::string certificate = {};
};

// The least activations that leave a schedule of one of the variants, none of which has one within its
// limit.
double least_activations(std::vector<ashlar::layout_choice> const& variants) {
  double least = 1e18;
  for (ashlar::layout_choice const& v : variants)
    least = std::min(least, static_cast<double>(ashlar::check(v.problem).number)
                                / static_cast<double>(v.memory_unit));
  return least;
}

// A schedule that fits a smaller limit fits a larger one.
std::vector<frontier_row> searched_on(ashlar::layout_choice const& choice, frontier_options const& o,
                                      std::vector<ashlar::schedule> const& starts,
                                      certificates& proofs) {
  long long const from = read_memory("--from", o.from), to = read_memory("--to", o.to);
  std::vector<frontier_row> rows;
  ashlar::variety const how = variety_of(o.model, choice);
  double best = 1;
  for (long long i = 0; i < o.steps; ++i) {
    long long const memory = from + (o.steps == 1 ? 0 : (to - from) * i / (o.steps - 1));
    frontier_row row{.schedule = "searched"};
    ashlar::layout_choice plain = choice;
    plain.problem.limit.budget = {limit_of(choice, memory)};
    std::vector<ashlar::layout_choice> variants = ashlar::variants_of(plain, how);
    std::vector<ashlar::layout_choice> feasible;
    for (ashlar::layout_choice& v : variants) {
      v.problem.limit.budget = {limit_of(v, memory)};
      if (ashlar::check(v.problem).ok()) feasible.push_back(v);
    }
    for (ashlar::layout_choice const& v : feasible.empty() ? variants : feasible) {
      auto const limit = static_cast<double>(v.problem.limit.budget_of(0));
      row.activations = std::max(row.activations, limit / static_cast<double>(v.memory_unit));
      row.memory = std::max(row.memory, share_of(v, limit));
    }
    if (feasible.empty()) {
      row.memory = static_cast<double>(memory) / static_cast<double>(whole_memory);
      row.needed = least_activations(variants);
      proofs.refuse(layout_name(choice), "that no schedule is within the limit has no argument");
      rows.push_back(row);
      continue;
    }
    if (!rows.empty() && row.memory == rows.back().memory) continue;
    std::vector<ashlar::searched_layout> const found = search_layouts(
        feasible, ashlar::objective::span, o.budget.part(static_cast<double>(feasible.size())), starts);
    row.overhead = best = std::min(best, found[ashlar::best_of(found)].overhead());
    row.least = 1;
    for (ashlar::searched_layout const& s : found) {
      row.least = std::min(*row.least, s.overhead_of(s.least()));
      proofs.add(s, scale_of(o.model));
    }
    rows.push_back(row);
  }
  return rows;
}

void add_published(std::vector<frontier_row>& rows, frontier_row const& more) {
  auto const alike = [&](frontier_row const& r) {
    return r.activations == more.activations && r.overhead == more.overhead;
  };
  if (std::none_of(rows.begin(), rows.end(), alike)) rows.push_back(more);
}

std::vector<frontier_row> published_rows(ashlar::layout_choice const& choice,
                                         std::vector<ashlar::published_schedule> const& all,
                                         time_scale const& scale, certificates& proofs) {
  std::vector<frontier_row> rows;
  for (ashlar::published_schedule const& known : all) {
    std::vector<int> const peaks = ashlar::peak_activations(known.made);
    int const peak = *std::max_element(peaks.begin(), peaks.end());
    frontier_row row{known.entry->name, static_cast<double>(peak), share_of(choice, peak),
                     ashlar::overhead_span(known.made)};
    if (auto const least = ashlar::schedule_bound(known.made))
      row.least = ashlar::idle_share(known.made, least->span);
    proofs.add(known.made, known.entry->name, scale);
    add_published(rows, row);
  }
  return rows;
}

// A schedule beside the searches, for the model that they are for.
frontier_row row_of(std::string const& name, ashlar::comparison const& c, frontier_options const& o,
                    certificates& proofs) {
  proofs.add(c, name, scale_of(o.model));
  frontier_row row{name, 0, *std::max_element(c.peaks.begin(), c.peaks.end()), c.overhead_span};
  if (auto const least = ashlar::comparison_bound(c)) {
    // Within what rounding leaves; without passes that take time it is 0.
    double const share = least->span > 0 ? 1 - (1 - c.overhead_span) * c.span / least->span : 0;
    row.least = std::clamp(share, 0.0, least->span > c.span ? 1.0 : c.overhead_span);
  }
  return row;
}

ashlar::catalog::shape shape_of(frontier_options const& o) {
  return {.p = ashlar::devices{static_cast<int>(o.model.p)},
          .m = ashlar::micro_batches{static_cast<int>(o.model.m)}};
}

// Schedules that hold the weights more than once, which no search here does.
std::vector<frontier_row> bidirectional_rows(frontier_options const& o,
                                             ashlar::divided_model const& model, certificates& proofs) {
  std::vector<frontier_row> rows;
  for (ashlar::catalog::entry const& e : ashlar::catalog::entries)
    if (e.check(shape_of(o)).ok() && e.make(shape_of(o)).where.route_count() > 1
        && refused_costs(e, shape_of(o), o.model.cost).empty())
      rows.push_back(row_of(e.name, ashlar::compare(e, shape_of(o), model), o, proofs));
  return rows;
}

void must_have_costs(std::string const& name, std::string const& refused) {
  if (!refused.empty()) throw usage_error(fmt::format("{} {}", name, refused));
}

std::vector<frontier_row> named_rows(frontier_options const& o, ashlar::divided_model const& model,
                                     certificates& proofs) {
  std::vector<frontier_row> rows;
  for (chosen_schedule const& s : o.shown.own) {
    must_have_costs(s.name, refused_costs(s.schedule, o.model.m, o.model.cost));
    long long const m = micro_batches_of(s.schedule);
    rows.push_back(row_of(m == o.model.m ? s.name : s.name + ", " + counted(m, "micro-batch"),
                          ashlar::compare(s.schedule, model), o, proofs));
  }
  for (ashlar::catalog::entry const* const e : o.shown.known) {
    if (auto const d = e->check(shape_of(o)); !d.ok())
      throw usage_error(fmt::format("{}: {}", e->name, ashlar::explain(d)));
    must_have_costs(e->name, refused_costs(*e, shape_of(o), o.model.cost));
    rows.push_back(row_of(e->name, ashlar::compare(*e, shape_of(o), model), o, proofs));
  }
  return rows;
}

// The percentage that a schedule beside the searches keeps; it must not depend on the stage.
int kept_by_all(ashlar::variety const& how) {
  if (how.kept_percent.size() > 1)
    throw usage_error(
        "--checkpoint gives a share for each stage, but frontier compares with schedules "
        "of other stages; give one for all");
  return how.kept_percent[0];
}

std::vector<frontier_part> parts_of(frontier_options const& o, certificates& proofs) {
  if (read_memory("--from", o.from) > read_memory("--to", o.to))
    throw usage_error(fmt::format("--from {} is above --to {}", o.from, o.to));
  std::vector<frontier_part> parts;
  std::vector<ashlar::layout_choice> const layouts = layouts_of(o.model);
  bool const any = o.model.placement == "any", all = o.shown.known.empty();
  for (ashlar::layout_choice const& choice : layouts) {
    ashlar::search_problem const& problem = choice.problem;
    auto const known = ashlar::published_on(problem.where, problem.m, problem.cost);
    std::vector<ashlar::schedule> starts;  // a search knows the others
    for (ashlar::published_schedule const& k : known)
      if (k.entry->is_searched) starts.push_back(k.made);
    std::vector<frontier_row> searched = searched_on(choice, o, starts, proofs), published;
    if (all) published = published_rows(choice, known, {choice.unit, scale_of(o.model).unit}, proofs);
    parts.push_back({layout_name(choice), std::move(searched), std::move(published)});
  }
  ashlar::variety const how = variety_of(o.model, layouts[0]);
  ashlar::divided_model const model{
      .cost =
          how.by_sequence_chunk ? *how.by_sequence_chunk : costs_of(o.model.cost, o.model.p, o.model.m),
      .piece_count = has_shared_costs(o.model) ? static_cast<int>(o.model.p)
                                               : layouts[0].problem.where.stage_count(),
      .kept_percent = kept_by_all(how),
      .causal = how.causal,
      .parts = parts_of(o.model.cost)};
  if (any && all)
    if (std::vector<frontier_row> both = bidirectional_rows(o, model, proofs); !both.empty())
      parts.push_back({"both ways, weights twice", {}, std::move(both)});
  if (std::vector<frontier_row> named = named_rows(o, model, proofs); !named.empty())
    parts.push_back({"named", {}, std::move(named)});
  return parts;
}

std::string title_of(frontier_options const& o) {
  std::string title = fmt::format("{} devices, {} micro-batches", o.model.p, o.model.m);
  title += "; " + words_of(o.model.cost);
  if (!o.model.checkpoint.empty()) title += fmt::format("; recomputes keep {}", o.model.checkpoint);
  if (o.model.sequence_chunks > 1)
    title += fmt::format("; sequences in up to {} chunks", o.model.sequence_chunks);
  return title;
}

bool cuts_sequences(frontier_options const& o) {
  std::vector<ashlar::schedule const*> own;
  for (chosen_schedule const& s : o.shown.own) own.push_back(&s.schedule);
  return o.model.sequence_chunks > 1 || traits_of(own).cuts_sequences
         || std::any_of(o.shown.known.begin(), o.shown.known.end(),
                        [](auto const* e) { return e->uses(ashlar::parameter::sequence_chunk_count); });
}

int frontier(CLI::App const& command, frontier_options o) {
  output const to(o.output);
  certificates proofs(o.certificate);
  o.shown = find_all(o.names, o.model.m);
  adopt_size(command, o.shown.own, o.model.p, o.model.m);
  must_have_effect(command, effects_of_theme(o.format));
  must_have_effect(command, {{"--to", o.steps > 1, "with --steps 1, which is the limit --from alone"},
                             {"--causal", cuts_sequences(o), "without --sequence-chunks"}});
  complete_placement(o.model);
  std::vector<frontier_part> const parts = parts_of(o, proofs);
  auto const is_feasible = [](frontier_part const& part) {
    return std::any_of(part.searched.begin(), part.searched.end(),
                       [](frontier_row const& r) { return !r.needed; });
  };
  if (std::none_of(parts.begin(), parts.end(), is_feasible)) {
    fmt::print(stderr, "ashlar: no placement has a schedule within {} of 1F1B's activations\n",
               o.steps > 1 ? o.to : o.from);
    proofs.write();
    return invalid;
  }
  to.write(o.format == "csv"    ? csv_of(parts)
           : o.format == "json" ? json_of(parts)
           : o.format == "svg"  ? chart_of(parts, title_of(o), o.theme)
                                : text_of(parts));
  return proofs.write();
}

}  // namespace

void add_frontier(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("frontier", "Search under a series of memory limits: overhead against memory");
  auto const o = std::make_shared<frontier_options>();
  command
      ->add_option(
          "names", o->names,
          "schedules to compare with: names from `ashlar list`, or files (default: all published)")
      ->type_name("NAME");
  add_layout_options(*command, o->model);
  command
      ->add_option("--from", o->from, "the smallest limit, as a share of 1F1B's activations: 0.3, 30%")
      ->type_name("SHARE")
      ->capture_default_str();
  command->add_option("--to", o->to, "the largest limit")->type_name("SHARE")->capture_default_str();
  add_number(*command, "--steps", o->steps, 1, 1000, "limits to search");
  add_budget_options(*command, o->budget);
  add_format_option(*command, o->format, {"text", "csv", "json", "svg"},
                    "text, csv, json, or svg: what is found and the lower bounds as lines, "
                    "published schedules as dots");
  add_theme_options(*command, o->theme);
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  command->footer(
      "The budget is for each limit of each placement and variant. Costs are those of a p-th of the "
      "model: a placement with\n"
      "two stages per device has stages of half the cost. A FILE gets these costs in place of its own. "
      "Files are compared\n"
      "with all published schedules, or with those that are named.");
  command->callback([&chosen, command, o] { chosen = [command, o] { return frontier(*command, *o); }; });
}

}  // namespace tool
