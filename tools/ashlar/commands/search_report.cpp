// The results of `ashlar search`, in words and as JSON.
#include "commands/search_report.hpp"

#include "files/files.hpp"
#include "options/byte_options.hpp"
#include "options/shape_options.hpp"
#include "report/layout_names.hpp"
#include "report/printed.hpp"
#include "report/proved_gap.hpp"
#include "report/table.hpp"
#include "report/terminal.hpp"
#include <ashlar/interop/json.hpp>
#include <ashlar/plan/parts/layered_layouts.hpp>
#include <ashlar/render/text.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tool {

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

namespace {

// Other choices that the question leaves open, and nobody looked at.
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

// The proof of the best, and for which schedules it holds: those that were searched, no others.
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

// There is no number unless the first chunks of each device are those that recompute.
nlohmann::ordered_json recomputed_chunks(ashlar::layout_choice const& c) {
  if (c.recomputed_chunks == ashlar::layout_choice::other_stages) return nullptr;
  return c.recomputed_chunks;
}

}  // namespace

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
  if (!best.choice.micro_batches.empty())
    text += fmt::format("micro-batches in their places, by the lines of '{}' from 0: {}\n",
                        o.model.cost.per_micro_batch, fmt::join(best.choice.micro_batches, " "));
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
    if (!c.micro_batches.empty()) facts["micro_batches_by_place"] = c.micro_batches;
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

namespace {

ashlar::tick bound_of(offloaded_layout const& best, search_options const& o) {
  return o.aim == "span" ? best.found.least.span : best.found.least.makespan;
}

}  // namespace

std::string text_of(offloaded_layout const& best, search_options const& o) {
  ashlar::offloaded_schedule const& found = best.found;
  time_scale const scale{best.choice.unit, scale_of(o.model).unit};
  auto const bytes = [&](ashlar::byte_count held) {
    return rounded_bytes(held / best.choice.memory_unit);
  };
  std::vector<std::vector<std::string>> rows{{"device", "leave", "of", "peak", "on the host"}};
  for (int d = 0; d < found.best.device_count(); ++d) {
    auto const at = static_cast<std::size_t>(d);
    auto const& forwards = found.choice.offload.forwards;
    auto const leave = std::count_if(forwards.begin(), forwards.end(), [&](ashlar::pass const& f) {
      return found.best.device_of(f) == d;
    });
    auto const all = std::count_if(
        found.best.order[at].begin(), found.best.order[at].end(),
        [](ashlar::time_slot const& t) { return t.what.kind == ashlar::pass_kind::forward; });
    rows.push_back({std::to_string(d), std::to_string(leave), std::to_string(all),
                    bytes(found.choice.peak[at]), bytes(found.choice.host_peak[at])});
  }
  ashlar::tick const least = bound_of(best, o);
  return fmt::format("{}: {} {}, no less than {} however much memory there is\n\n",
                     layout_name(best.choice), o.aim, scale.words(found.reached), scale.words(least))
         + table(rows);
}

std::string json_of(offloaded_layout const& best, search_options const& o) {
  using nlohmann::ordered_json;
  time_scale scale = scale_of(o.model);
  if (!scale.is_plain()) scale.ticks_per_unit = best.choice.unit;
  ashlar::offloaded_schedule const& found = best.found;
  ordered_json out = ashlar::to_json(found.best, "searched", scale);
  ordered_json leave = ordered_json::array(), devices = ordered_json::array();
  for (ashlar::pass const& f : found.choice.offload.forwards) leave.push_back({f.stage, f.micro_batch});
  for (std::size_t d = 0; d < found.choice.peak.size(); ++d)
    devices.push_back({{"peak", found.choice.peak[d] / best.choice.memory_unit},
                       {"host_peak", found.choice.host_peak[d] / best.choice.memory_unit}});
  out.update({{"objective", o.aim},
              {"layout", shape_name(best.choice.shape)},
              {"chunks", best.choice.chunk_count},
              {"unit", best.choice.unit},
              {"reached", found.reached},
              {"bound", bound_of(best, o)},
              {"offload", std::move(leave)},
              {"memory", std::move(devices)}});
  return dumped(out) + "\n";
}

}  // namespace tool
