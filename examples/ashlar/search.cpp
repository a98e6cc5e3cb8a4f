// ashlar search: the best schedule for a model's costs under a memory limit, and how good it is.
#include "command.hpp"
#include "data_formats.hpp"
#include "dialect_option.hpp"
#include "files.hpp"
#include "layout_options.hpp"
#include "pictures.hpp"
#include "search_run.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include <ashlar/interop/json.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/text.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace tool {

namespace {

struct search_options {
  layout_options model;
  long long limit = 0;  // where it is not 0, it counts
  std::string memory = "1";
  std::string aim = "span";
  search_budget budget;
  std::string format = "text";
  std::string dialect = "detect";
  std::string output = "-";
};

ashlar::objective aim_of(std::string const& name) {
  using enum ashlar::objective;
  return name == "makespan" ? makespan : name == "program" ? program : span;
}

// Those that the limit leaves a schedule for. Where it is so for none, `why` says how small it may be.
std::vector<ashlar::layout_choice> choices_of(search_options const& o, std::string& why) {
  std::vector<ashlar::layout_choice> feasible;
  double least = 0;
  for (ashlar::layout_choice c : layouts_of(o.model)) {
    c.problem.limit = o.limit > 0 ? o.limit : limit_of(c, read_memory("--memory", o.memory));
    ashlar::diagnosis const d = ashlar::check(c.problem);
    if (d.ok()) {
      feasible.push_back(std::move(c));
      continue;
    }
    double const share = share_of(c, static_cast<double>(d.number));
    if (why.empty() || share < least)
      why = fmt::format("{}: {}; that is {} % of what 1F1B holds", layout_name(c), ashlar::explain(d),
                        percent(share));
    least = share;
  }
  return feasible;
}

std::string text_of(std::vector<searched_layout> const& all, search_options const& o) {
  searched_layout const& best = all[best_of(all)];
  char const* const what = o.aim == "span" ? "span" : "makespan";
  std::vector<std::vector<std::string>> cells{
      {"placement", "limit", "memory %", "no less than", what, "bubble %", "gap %", "evaluations"}};
  for (searched_layout const& s : all) {
    long long const limit = s.choice.problem.limit.on(0);
    cells.push_back({layout_name(s.choice), std::to_string(limit),
                     percent(share_of(s.choice, static_cast<double>(limit))),
                     fmt::format("{:g}", s.in_ticks(s.least())),
                     fmt::format("{:g}", s.in_ticks(s.result.reached)), percent(s.bubble()),
                     percent(s.gap()), std::to_string(s.result.evaluations)});
  }
  std::string text = table(cells, 1);
  text += fmt::format(
      "\n{}: {}\n", layout_name(best.choice),
      best.is_optimal()
          ? fmt::format("optimal, no {} within this limit is shorter", what)
          : fmt::format("at most {} % longer than the shortest within this limit", percent(best.gap())));
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

std::string json_of(std::vector<searched_layout> const& all, search_options const& o) {
  using nlohmann::ordered_json;
  auto const facts = [](searched_layout const& s) {
    return ordered_json{{"layout", shape_name(s.choice.shape)},
                        {"chunks", s.choice.chunk_count},
                        {"unit", s.choice.unit},
                        {"limit", s.choice.problem.limit.on(0)},
                        {"reached", s.result.reached},
                        {"bound", s.least()},
                        {"gap", s.gap()},
                        {"optimal", s.is_optimal()},
                        {"evaluations", s.result.evaluations}};
  };
  searched_layout const& best = all[best_of(all)];
  ordered_json out = ashlar::to_json(best.result.best, "searched");
  out["objective"] = o.aim;
  out.update(facts(best));
  out["layouts"] = ordered_json::array();
  for (searched_layout const& s : all) out["layouts"].push_back(facts(s));
  return out.dump() + "\n";
}

int search(search_options const& o) {
  auto const dialect = dialect_of(o.dialect);
  std::string why;
  std::vector<ashlar::layout_choice> const choices = choices_of(o, why);
  if (choices.empty()) {
    fmt::print(stderr, "ashlar: there is no schedule within the limit on memory: {}\n", why);
    return invalid;
  }
  std::vector<searched_layout> const all = search_layouts(choices, aim_of(o.aim), o.budget);
  searched_layout const& best = all[best_of(all)];
  ashlar::schedule const& s = best.result.best;
  std::string const title = "searched, " + layout_name(best.choice);
  std::string text;
  if (o.format == "text")
    text = text_of(all, o);
  else if (o.format == "json")
    text = json_of(all, o);
  else if (o.format == "svg")
    text = svg_of(s, title, {.memory = true});
  else if (o.format == "html")
    text = html_of(s, title, {});
  else
    text = data_of(s, title, o.format, dialect);
  write_text(o.output, text);
  return done;
}

}  // namespace

void add_search(CLI::App& app, action& chosen) {
  auto* const command =
      app.add_subcommand("search", "Find the best schedule for given costs under a memory limit");
  auto const o = std::make_shared<search_options>();
  add_layout_options(*command, o->model);
  auto* const limit =
      command->add_option("--limit", o->limit, "chunk activations that a device may hold")
          ->check(CLI::Range(1LL, 1'000'000'000'000LL))
          ->type_name("N");
  command
      ->add_option("--memory", o->memory,
                   "what a device may hold, as a share of 1F1B's activations: 0.5 or 50%")
      ->type_name("SHARE")
      ->capture_default_str()
      ->excludes(limit);
  command
      ->add_option("--objective", o->aim,
                   "span: of the device that takes longest; makespan; program: the simulated makespan "
                   "of the lowered program")
      ->check(CLI::IsMember({"span", "makespan", "program"}))
      ->type_name("OBJECTIVE")
      ->capture_default_str();
  add_budget_options(*command, o->budget);
  command
      ->add_option("--seconds", o->budget.seconds,
                   "time to search, instead of --budget; what is found then depends on the machine")
      ->check(CLI::Range(0.01, 1e6))
      ->type_name("S")
      ->excludes("--budget");
  command
      ->add_option(
          "--as", o->format,
          "text: table and picture; json: schedule, times, bound; or svg, html, trace, pytorch, "
          "pytorch-comms as `ashlar emit` has them")
      ->check(CLI::IsMember({"text", "json", "svg", "html", "trace", "pytorch", "pytorch-comms"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  command->add_option("-o,--output", o->output, "where to write; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  add_dialect_option(*command, o->dialect);
  command->footer(
      "With one placement, costs are those of a stage. With --placement any they are those of a p-th of "
      "the model:\na placement with two stages a device has stages of half the cost. All share a part "
      "of the budget,\nthen the better half of them another, and so on; the best alone gets half.\n"
      "Exit code 1: the limit leaves no schedule.\n"
      "Examples:\n"
      "  ashlar search -p 8 -m 32 --memory 0.5 --forward 20 --backward-input 26 --backward-weight 14 "
      "--transfer 1\n"
      "  ashlar search -p 4 -m 8 --placement v --limit 4 --as svg -o v.svg\n"
      "  ashlar search -p 4 -m 16 --placement looped -v 2 --per-stage costs.csv --seconds 10 --as "
      "pytorch");
  command->callback([&chosen, o] {
    if (o->limit > 0 && o->model.placement == "any")
      throw CLI::ValidationError("--limit",
                                 "counts chunks, which --placement any has of several sizes; take "
                                 "--memory or a placement");
    chosen = [o] { return search(*o); };
  });
}

}  // namespace tool
