// ashlar search: the best schedule for a model's costs under a memory limit, and how good it is.
#include "command.hpp"
#include "commands/search_choices.hpp"
#include "commands/search_report.hpp"
#include "files/data_formats.hpp"
#include "files/files.hpp"
#include "options/dialect_option.hpp"
#include "options/effects.hpp"
#include "options/layer_options.hpp"
#include "options/layout_options.hpp"
#include "options/limit_options.hpp"
#include "options/number_option.hpp"
#include "options/output_options.hpp"
#include "options/shape_options.hpp"
#include "options/theme_option.hpp"
#include "report/certificates.hpp"
#include "report/interrupt_watch.hpp"
#include "report/layout_names.hpp"
#include "report/pictures.hpp"
#include "report/search_run.hpp"
#include <ashlar/search/layout_freedoms.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

// The schedules of --start. The first supplies sizes, placement, costs and limit that are not given.
std::vector<chosen_schedule> starts_of(CLI::App const& command, search_options& o) {
  auto [own, known] = find_all(o.starts, o.model.m);
  adopt_size(command, own, o.model.p, o.model.m);
  bool const from_file = !own.empty();
  for (ashlar::catalog::entry const* const e : known)
    own.push_back(choose({.name = e->name, .p = o.model.p, .m = o.model.m}));
  if (own.empty()) return own;
  ashlar::schedule const& first = own[0].schedule;
  if (first.mode == ashlar::execution_mode::inference)
    throw usage_error(fmt::format(
        "{} has forwards alone, and a search is for training; in C++ search_requests() searches those",
        own[0].name));
  int const q = first.graph.sequence_chunks();
  if (first.graph != in_sequence_chunks(ashlar::chain(ashlar::stages{first.stage_count()}), q)) {
    o.model.graph = first.graph;
    if (o.model.sequence_chunks > 1 || q > 1)
      throw usage_error(fmt::format(
          "a search cuts sequences of chains of stages alone; {} is of another graph", own[0].name));
  }
  o.model.sequence_chunks = std::max<long long>(o.model.sequence_chunks, q);
  if (o.model.placement_option->count() > 0) return own;
  std::vector<int> route;
  for (int stage = 0; stage < first.stage_count(); ++stage)
    route.push_back(first.where.device_of(first.route[0], stage));
  o.model.own = ashlar::placement(ashlar::devices{first.device_count()}, {route});
  o.model.placement = "own";
  if (from_file && !o.model.cost.are_given()) {
    o.model.own_scale = own[0].scale;
    o.model.own_cost = first.cost;  // a layout's are those of whole sequences, or of each chunk
    if (first.cost.passes.sequence_chunks() == 1)
      o.model.own_cost->passes.change_each(
          [&](ashlar::stage_cost& c) { c.change_each([&](ashlar::tick& each) { each *= q; }); });
  }
  if (o.limit.bytes.empty() && o.limit.activations.empty() && command.count("--memory") == 0) {
    std::vector<int> const peaks = ashlar::peak_activations(first);
    o.limit.activations = {(*std::max_element(peaks.begin(), peaks.end()) + q - 1) / q};
  }
  return own;
}

// Returns the schedules of `starts`; at least one layout can begin with each of them.
std::vector<ashlar::schedule> schedules_of(std::vector<chosen_schedule> const& starts,
                                           std::vector<ashlar::layout_choice> const& choices) {
  std::vector<ashlar::schedule> all;
  for (chosen_schedule const& s : starts) {
    if (std::none_of(choices.begin(), choices.end(), [&s](ashlar::layout_choice const& c) {
          return ashlar::check_start(c.problem, s.schedule).ok();
        }))
      throw usage_error(fmt::format(
          "a search cannot begin with {}: it must be on the placement that is searched, on one route, "
          "have as many micro-batches and sequence chunks, and recompute only stages that the search "
          "may recompute",
          s.name));
    all.push_back(s.schedule);
  }
  return all;
}

// Searches layouts where values may leave for hosts: those that are searched without that, and those
// that have no schedule without it.
int search_with_hosts(search_options const& o, std::vector<chosen_schedule> const& starts,
                      choices const& known) {
  if (o.limit.bytes.empty()) throw usage_error("--host-bandwidth needs --limit-bytes");
  if (o.budget.seconds > 0 || o.order || o.braid)
    throw usage_error(fmt::format("--host-bandwidth and {} do not go together", o.braid ? "--braid"
                                                                                : o.order
                                                                                    ? "--order"
                                                                                    : "--seconds"));
  if (o.format != "text" && o.format != "json")
    throw usage_error("--host-bandwidth has --as text and json: no other says what leaves");
  output const to(o.output);
  ashlar::objective const aim = aim_of(o);
  std::vector<ashlar::searched_layout> plain;
  if (!known.feasible.empty())
    plain = search_layouts(known.feasible, aim, o.budget, schedules_of(starts, known.feasible));
  std::optional<offloaded_layout> best;
  auto const offer = [&](ashlar::layout_choice const& c, ashlar::search_result const* without) {
    time_scale const scale{c.unit, scale_of(o.model).unit};
    ashlar::host_link link = planned_host(host_of(o.host, scale), o.model.cost.others, scale);
    link.speed.bandwidth = ashlar::saturating_product(link.speed.bandwidth, c.memory_unit);
    auto found = search_offloaded(
        c.problem, link,
        {.passes = o.budget.evaluations * pass_count(c.problem), .seed = o.budget.seed, .aim = aim},
        without);
    if (!found) return;
    offloaded_layout made{c, *found};
    if (!best || made.time() < best->time()) best = std::move(made);
  };
  for (ashlar::searched_layout const& s : plain) offer(s.choice, &s.result);
  for (infeasible_layout const& i : known.infeasible) offer(i.choice, nullptr);
  if (!best) {
    fmt::print(stderr, "ashlar: no schedule was found that copies bring within the limit on memory\n");
    return invalid;
  }
  to.write(o.format == "json" ? json_of(*best, o) : text_of(*best, o));
  return done;
}

// Each layout with its bound: together they bound the best.
int certify(certificates& proofs, std::vector<ashlar::searched_layout> const& all,
            std::vector<infeasible_layout> const& infeasible, search_options const& o) {
  for (ashlar::searched_layout const& s : all) {
    if (o.braid)
      proofs.refuse(layout_name(s.choice), "its bound is of pairs");
    else
      proofs.add(s, scale_of(o.model));
  }
  for (infeasible_layout const& i : infeasible)
    proofs.refuse(layout_name(i.choice), "that no schedule is within the limit has no argument");
  if (!o.layers.path.empty() && has_all_divisions(all, infeasible))
    proofs.refuse("the best of all divisions of the layers",
                  "each that was searched has its own, and none says which others there are");
  return proofs.write();
}

int search(CLI::App const& command, search_options o) {
  certificates proofs(o.certificate);
  std::vector<chosen_schedule> const starts = starts_of(command, o);
  must_have_effect(command,
                   {effect_of_dialect(o.format),
                    {"--causal", o.model.sequence_chunks > 1, "without --sequence-chunks"},
                    {"--braid",
                     !o.model.graph && o.aim != "program"
                         && costs_of(o.model.cost, o.model.p, o.model.m).passes.overlapped.are_given(),
                     "without costs of parts (--costs), on other graphs and for programs"},
                    {"--order", !o.model.cost.per_micro_batch.empty(), "without --per-micro-batch"}});
  must_have_effect(command, effects_of_theme(o.format));
  complete_placement(o.model);
  must_suit(o.limit, o.model.placement, !o.layers.path.empty() || !o.model.cost.sizes.empty());
  must_suit(o.layers, o.limit);
  auto const dialect = dialect_of(o.dialect);
  choices known = choices_of(o);
  must_be_taken(o.model.late, known);
  must_have_effect(command, {{"--host-shared-by", !o.host.bandwidth.empty(), "without --host-bandwidth"},
                             {"--host-slack", !o.host.bandwidth.empty(), "without --host-bandwidth"}});
  if (!o.host.bandwidth.empty()) {
    must_have_effect(command, {{"--certificate", false, "with copies to the host"}});
    return search_with_hosts(o, starts, known);
  }
  output const to(o.output);
  if (known.feasible.empty()) {
    auto const smallest =
        std::min_element(known.infeasible.begin(), known.infeasible.end(),
                         [](auto const& a, auto const& b) { return a.lacks.least < b.lacks.least; });
    fmt::print(stderr, "ashlar: there is no schedule within the limit on memory: {}\n",
               smallest->lacks.why);
    certify(proofs, {}, known.infeasible, o);
    return invalid;
  }
  interrupt_watch const watch;
  if (o.order) known.feasible = with_orders(known.feasible, aim_of(o));
  std::vector<ashlar::searched_layout> all =
      search_layouts(known.feasible, aim_of(o), o.budget, schedules_of(starts, known.feasible));
  if (o.braid)
    for (ashlar::searched_layout& each : all) braid(each, o.budget.evaluations);
  ashlar::searched_layout const& best = all[ashlar::best_of(all)];
  ashlar::schedule const& s = best.result.best;
  time_scale const scale{best.choice.unit, scale_of(o.model).unit};
  std::string const title = "searched, " + layout_name(best.choice);
  std::string text;
  if (o.format == "text")
    text = text_of(all, known.infeasible, o);
  else if (o.format == "json")
    text = json_of(all, known.infeasible, o);
  else if (o.format == "svg")
    text = svg_of(s, title, scale, {.memory = true, .theme = o.theme});
  else if (o.format == "html")
    text = html_of(s, title, scale, {.theme = o.theme});
  else
    text = data_of(s, title, o.format, dialect, scale);
  to.write(text);
  int const code = certify(proofs, all, known.infeasible, o);
  if (!interrupt_watch::has_come()) return code;
  fmt::print(stderr, "ashlar: interrupted: this is the best so far\n");
  return interrupted_early;
}

}  // namespace

void add_search(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("search", "Find the best schedule for given costs under a memory limit");
  auto const o = std::make_shared<search_options>();
  add_layout_options(*command, o->model);
  command->remove_option(command->get_option("--overlapped"));  // pairs come from parts
  command
      ->add_option(
          "--start", o->starts,
          "a schedule to begin with: a name from `ashlar list`, or a file; it also gives what the "
          "command line leaves out: sizes, placement, stage graph, costs (of a file), and its peak as "
          "the limit")
      ->type_name("NAME");
  add_link_option(*command, o->model.late, o->model.cost.others);
  add_limit_options(*command, o->limit);
  add_layer_options(*command, o->layers, o->model.cost);
  command
      ->add_option("--objective", o->aim,
                   "span: of the device that takes longest; makespan; program: the simulated makespan "
                   "of the lowered program")
      ->check(CLI::IsMember({"span", "makespan", "program"}))
      ->type_name("OBJECTIVE")
      ->capture_default_str();
  command->add_flag(
      "--order", o->order,
      "also search with the micro-batches of --per-micro-batch in another order, if one makes the "
      "schedules shorter that the search starts from");
  command->add_flag("--braid", o->braid,
                    "make pairs of what is found, a forward with a backward, where that is shorter: for "
                    "--costs with parts");
  add_budget_options(*command, o->budget);
  add_host_link_options(*command, o->host, o->model.cost.others);
  add_number(*command, "--seconds", o->budget.seconds, 0.01, 1e6,
             "time to search, instead of --budget; what is found then depends on the machine")
      ->default_str("")
      ->type_name("S")
      ->excludes("--budget");
  add_format_option(
      *command, o->format,
      {"text", "json", "svg", "html", "trace", "pytorch", "pytorch-comms", "frameworks"},
      "text: table and picture; json: schedule, times, bound; or svg, html, trace, pytorch, "
      "pytorch-comms, frameworks as `ashlar emit` has them");
  add_theme_options(*command, o->theme);
  add_output_option(*command, o->output);
  add_certificate_option(*command, o->certificate);
  add_dialect_option(*command, o->dialect);
  command->footer(
      "Costs and sizes are those of a p-th of the model: a placement with two stages per device has "
      "stages of\n"
      "half of them. Files with a line per stage, and a --start of a file, have those of each stage.\n"
      "With --placement any, the budget goes to all placements at first, then to the better half of "
      "them, and so\n"
      "on; half of it goes to the best.");
  command->callback([&chosen, command, o] { chosen = [command, o] { return search(*command, *o); }; });
}

}  // namespace tool
