// ashlar search: the best schedule for a model's costs under a memory limit, and how good it is.
#include "command.hpp"
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
#include "report/pictures.hpp"
#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include "report/search_run.hpp"
#include "report/table.hpp"
#include "report/terminal.hpp"
#include <ashlar/interop/json.hpp>
#include <ashlar/plan/training/layered_layouts.hpp>
#include <ashlar/render/text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct search_options {
  layout_options model;
  limit_options limit;
  layer_options layers;
  std::string aim = "span";
  search_budget budget;
  std::vector<std::string> starts;
  std::string format = "text";
  std::string dialect = "detect";
  std::string output = "-";
};

ashlar::objective aim_of(std::string const& name) {
  using enum ashlar::objective;
  return name == "makespan" ? makespan : name == "program" ? program : span;
}

// The schedules of --start. The first says what is not given: sizes, placement, costs, limit.
std::vector<chosen_schedule> starts_of(CLI::App const& command, search_options& o) {
  auto [own, known] = find_all(o.starts, o.model.m);
  adopt_size(command, own, o.model.p, o.model.m);
  bool const from_file = !own.empty();
  for (ashlar::catalog::entry const* const e : known)
    own.push_back(choose({.name = e->name, .p = o.model.p, .m = o.model.m}));
  if (own.empty()) return own;
  ashlar::schedule const& first = own[0].schedule;
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
      o.model.own_cost->passes.change_each([&](ashlar::stage_cost& c) {
        for (ashlar::tick* t : {&c.forward, &c.backward_input, &c.backward_weight, &c.recompute})
          if (*t != ashlar::stage_cost::same_as_forward) *t *= q;
      });
  }
  if (o.limit.bytes.empty() && o.limit.activations.empty() && command.count("--memory") == 0) {
    std::vector<int> const peaks = ashlar::peak_activations(first);
    o.limit.activations = {(*std::max_element(peaks.begin(), peaks.end()) + q - 1) / q};
  }
  return own;
}

// Of `starts`, each of which one choice at least can begin with.
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

// A layout for which the limit leaves no schedule.
struct infeasible_layout {
  ashlar::layout_choice choice;
  shortfall lacks;
};

// All layouts, by whether the limit leaves a schedule.
struct choices {
  std::vector<ashlar::layout_choice> feasible = {};
  std::vector<infeasible_layout> infeasible = {};
};

choices choices_of(search_options const& o) {
  choices all;
  for (ashlar::layout_choice const& plain :
       o.layers.path.empty() ? layouts_of(o.model) : layered_layouts_of(o.layers, o.model, o.limit))
    for (ashlar::layout_choice& c :
         limited(plain, o.limit, o.model.cost, variety_of(o.model, plain), o.model.placement == "any"))
      if (std::optional<shortfall> lacks = shortfall_of(c, o.limit))
        all.infeasible.push_back({std::move(c), std::move(*lacks)});
      else
        all.feasible.push_back(std::move(c));
  return all;
}

// Whether every division of the layers is among those of each placement, in every variant of it.
bool has_all_divisions(std::vector<ashlar::searched_layout> const& all,
                       std::vector<infeasible_layout> const& infeasible) {
  std::map<std::pair<std::vector<int>, int>, std::set<std::vector<int>>> of_placement;
  auto const count = [&](ashlar::layout_choice const& c) {
    std::vector<int> route;
    for (int stage = 0; stage < c.problem.where.stage_count(); ++stage)
      route.push_back(c.problem.where.device_of(0, stage));
    of_placement[{route, c.sequence_chunks}].insert(c.layers);
  };
  for (ashlar::searched_layout const& s : all) count(s.choice);
  for (infeasible_layout const& i : infeasible) count(i.choice);
  for (auto const& [placement, divisions] : of_placement) {
    std::vector<int> const& sizes = *divisions.begin();
    int const layers = std::accumulate(sizes.begin(), sizes.end(), 0);
    if (static_cast<std::int64_t>(divisions.size())
        < ashlar::division_count(layers, static_cast<int>(sizes.size())))
      return false;
  }
  return true;
}

// What else there is of what the question leaves open, and nobody looked at.
std::vector<std::string> not_searched(std::vector<ashlar::searched_layout> const& all,
                                      std::vector<infeasible_layout> const& infeasible,
                                      search_options const& o) {
  std::vector<std::string> others;
  if (!o.layers.path.empty() && !has_all_divisions(all, infeasible))
    others.emplace_back("divisions of the layers");
  if (o.model.placement == "any") others.emplace_back("placements");
  if (!o.model.checkpoint.empty()) others.emplace_back("sets of stages that recompute");
  if (o.model.sequence_chunks > 1) others.emplace_back("numbers of sequence chunks");
  return others;
}

// What is proved of the best, and of which schedules: those that were searched, no others.
std::string words_of_proof(ashlar::proved_layouts const& proof,
                           std::vector<ashlar::searched_layout> const& all, std::string const& what,
                           std::vector<std::string> const& others) {
  bool const divides = !all[proof.best].choice.layers.empty(), several = all.size() > 1;
  bool const is_whole = others.empty();
  std::string const whose = divides && is_whole ? " of any division of the layers"
                            : divides           ? " of these divisions of the layers"
                            : several           ? " of these layouts"
                                                : "";
  if (proof.is_optimal) return fmt::format("optimal, no {}{} within this limit is shorter", what, whose);
  return fmt::format("at most {} % longer than the shortest{} within this limit",
                     percent(proved_gap(proof.gap, proof.is_optimal)), whose);
}

std::string text_of(std::vector<ashlar::searched_layout> const& all,
                    std::vector<infeasible_layout> const& infeasible, search_options const& o) {
  ashlar::proved_layouts const proof = ashlar::proved_of(all);
  ashlar::searched_layout const& best = all[proof.best];
  std::string const what = o.aim == "span" ? "span" : "makespan", unit = scale_of(o.model).unit;
  std::vector<std::vector<std::string>> cells{{"placement", "limit", "memory %", "no less than",
                                               unit.empty() ? what : what + ", " + unit, "overhead %",
                                               "gap %", "evaluations"}};
  for (ashlar::searched_layout const& s : all)
    cells.push_back({layout_name(s.choice), words_of_limit(s.choice, o.limit),
                     percent(share_of_limit(s.choice)), readable(s.in_ticks(s.least())),
                     readable(s.in_ticks(s.result.reached)), percent(proved_share(s.overhead())),
                     percent(proved_gap(s.result.reached, s.least())),
                     std::to_string(s.result.evaluations)});
  std::string text = table(cells, 1);
  for (infeasible_layout const& i : infeasible)
    text += fmt::format("{}: infeasible: needs at least {}\n", layout_name(i.choice), i.lacks.words);
  std::vector<std::string> const others = not_searched(all, infeasible, o);
  text += fmt::format("\n{}: {}\n", layout_name(best.choice), words_of_proof(proof, all, what, others));
  if (!others.empty()) text += fmt::format("not searched: other {}\n", fmt::join(others, ", other "));
  if (!best.choice.layers.empty())
    text += fmt::format("layers of each stage: {}\n", words_of_layers(best.choice.layers));
  std::size_t longest = 0;
  for (auto const& order : best.result.best.order) longest = std::max(longest, order.size());
  constexpr std::size_t most_shown = 64;
  bool const to_terminal = o.output == "-";
  if (longest <= most_shown)
    text += "\n"
            + ashlar::text(best.result.best,
                           {to_terminal && wants_colour("auto"), to_terminal ? terminal_width() : 0});
  return text;
}

// No number where it is not the first chunks of each device that recompute.
nlohmann::ordered_json recomputed_chunks(ashlar::layout_choice const& c) {
  if (c.recomputed_chunks == ashlar::layout_choice::other_stages) return nullptr;
  return c.recomputed_chunks;
}

std::string json_of(std::vector<ashlar::searched_layout> const& all,
                    std::vector<infeasible_layout> const& infeasible, search_options const& o) {
  using nlohmann::ordered_json;
  auto const asked = [&o](ashlar::layout_choice const& c, char const* status) {
    ordered_json facts{{"layout", shape_name(c.shape)},
                       {"chunks", c.chunk_count},
                       {"recomputed_chunks", recomputed_chunks(c)},
                       {"recomputed_stages", ashlar::recomputed_stages(c.problem)},
                       {"sequence_chunks", c.sequence_chunks},
                       {"unit", c.unit},
                       {"limit", json_of_limit(c, o.limit)},
                       {"limit_unit", unit_of_limit(c, o.limit)},
                       {"status", status}};
    if (!c.layers.empty()) facts.update({{"division", name_of(c.division)}, {"layers", c.layers}});
    return facts;
  };
  auto const facts_of = [&asked](ashlar::searched_layout const& s) {
    ordered_json found = asked(s.choice, "searched");
    found.update({{"reached", s.result.reached},
                  {"bound", s.least()},
                  {"gap", proved_gap(s.result.reached, s.least())},
                  {"optimal", s.is_optimal()},
                  {"evaluations", s.result.evaluations}});
    return found;
  };
  ashlar::proved_layouts const proof = ashlar::proved_of(all);
  ashlar::searched_layout const& best = all[proof.best];
  time_scale scale = scale_of(o.model);
  if (!scale.is_plain()) scale.ticks_per_unit = best.choice.unit;
  ordered_json out = ashlar::to_json(best.result.best, "searched", scale);
  out["objective"] = o.aim;
  out.update(facts_of(best));
  out.update({{"bound", proof.least},
              {"gap", proved_gap(proof.gap, proof.is_optimal)},
              {"optimal", proof.is_optimal}});
  out["not_searched"] = not_searched(all, infeasible, o);
  out["layouts"] = ordered_json::array();
  for (ashlar::searched_layout const& s : all) out["layouts"].push_back(facts_of(s));
  for (infeasible_layout const& i : infeasible)
    out["layouts"].emplace_back(asked(i.choice, "infeasible"))["needs"] = i.lacks.needed;
  return dumped(out) + "\n";
}

int search(CLI::App const& command, search_options o) {
  std::vector<chosen_schedule> const starts = starts_of(command, o);
  must_have_effect(command, {effect_of_dialect(o.format),
                             {"--causal", o.model.sequence_chunks > 1, "without --sequence-chunks"}});
  complete_placement(o.model);
  must_suit(o.limit, o.model.placement, !o.layers.path.empty() || !o.model.cost.sizes.empty());
  must_suit(o.layers, o.limit);
  auto const dialect = dialect_of(o.dialect);
  output const to(o.output);
  choices const known = choices_of(o);
  if (known.feasible.empty()) {
    auto const smallest =
        std::min_element(known.infeasible.begin(), known.infeasible.end(),
                         [](auto const& a, auto const& b) { return a.lacks.least < b.lacks.least; });
    fmt::print(stderr, "ashlar: there is no schedule within the limit on memory: {}\n",
               smallest->lacks.why);
    return invalid;
  }
  std::vector<ashlar::searched_layout> const all =
      search_layouts(known.feasible, aim_of(o.aim), o.budget, schedules_of(starts, known.feasible));
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
    text = svg_of(s, title, scale, {.memory = true});
  else if (o.format == "html")
    text = html_of(s, title, scale, {});
  else
    text = data_of(s, title, o.format, dialect, scale);
  to.write(text);
  return done;
}

}  // namespace

void add_search(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("search", "Find the best schedule for given costs under a memory limit");
  auto const o = std::make_shared<search_options>();
  add_layout_options(*command, o->model);
  command->remove_option(command->get_option("--overlapped"));  // a search makes no such pairs
  command
      ->add_option(
          "--start", o->starts,
          "a schedule to begin with: a name from `ashlar list`, or a file; it also gives what the "
          "command line leaves out: sizes, placement, stage graph, costs (of a file), and its peak as "
          "the limit")
      ->type_name("NAME");
  add_limit_options(*command, o->limit);
  add_layer_options(*command, o->layers, o->model.cost);
  command
      ->add_option("--objective", o->aim,
                   "span: of the device that takes longest; makespan; program: the simulated makespan "
                   "of the lowered program")
      ->check(CLI::IsMember({"span", "makespan", "program"}))
      ->type_name("OBJECTIVE")
      ->capture_default_str();
  add_budget_options(*command, o->budget);
  add_number(*command, "--seconds", o->budget.seconds, 0.01, 1e6,
             "time to search, instead of --budget; what is found then depends on the machine")
      ->default_str("")
      ->type_name("S")
      ->excludes("--budget");
  add_format_option(
      *command, o->format, {"text", "json", "svg", "html", "trace", "pytorch", "pytorch-comms"},
      "text: table and picture; json: schedule, times, bound; or svg, html, trace, pytorch, "
      "pytorch-comms as `ashlar emit` has them");
  add_output_option(*command, o->output);
  add_dialect_option(*command, o->dialect);
  command->footer(
      "With one placement, costs and sizes are those of a stage. With --placement any they are those of "
      "a p-th of\nthe model: a placement with two stages per device has stages of half the cost. The "
      "budget goes\nto all placements at first, then to the better half of them, and so on; half of it "
      "goes "
      "to the best.\n"
      "Exit code 1: the limit leaves no schedule.\n"
      "Examples:\n"
      "  ashlar search -p 8 -m 32 --memory 0.5 --forward 20 --backward-input 26 --backward-weight 14 "
      "--transfer 1\n"
      "  ashlar search -p 4 -m 8 --placement v --limit 4 --as svg -o v.svg\n"
      "  ashlar search --start mine.json --as json -o better.json\n"
      "  ashlar search -m 8 --placement 0,1,2,3,3,2,1,0,0,1,2,3\n"
      "  ashlar search -p 8 -m 32 --memory 25% --checkpoint 6% --sequence-chunks 4\n"
      "  ashlar search -p 8 -m 32 --placement linear --sequence-chunks 4 --causal 30,46\n"
      "  ashlar search -p 4 -m 8 --placement linear --limit 2 --checkpoint 6% --checkpoint-stages "
      "0-1/0-2\n"
      "  ashlar search -p 4 -m 8 --speeds 100,100,50,100 --limit-bytes 80GiB,80GiB,40GiB,80GiB "
      "--stash-bytes 6GiB\n    --weight-bytes 10GiB --gradient-bytes 10GiB --optimizer-bytes 12GiB\n"
      "  ashlar search -p 4 -m 16 --per-layer layers.csv --memory 60%\n"
      "  ashlar search -p 4 -m 16 --placement looped -v 2 --per-stage costs.csv --seconds 10 --as "
      "pytorch");
  command->callback([&chosen, command, o] { chosen = [command, o] { return search(*command, *o); }; });
}

}  // namespace tool
