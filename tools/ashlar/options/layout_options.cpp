#include "options/layout_options.hpp"

#include "command.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include "options/placement_option.hpp"
#include "report/counted.hpp"
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/study/compare.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tool {

namespace {

using ashlar::placement_kind;

int chunk_count_of(placement_kind shape, layout_options const& o) {
  if (shape == placement_kind::linear || shape == placement_kind::v) {
    if (o.v != 0)
      throw usage_error(
          fmt::format("-v/--chunks goes with --placement looped or wave, not {}", o.placement));
    return shape == placement_kind::v ? 2 : 1;
  }
  int const count = o.v == 0 ? 2 : static_cast<int>(o.v);
  if (shape == placement_kind::wave && count % 2 != 0)
    throw usage_error(
        fmt::format("a wave goes down and up again: -v/--chunks must be even, not {}", count));
  return count;
}

void must_be_few(layout_options const& o, long long chunk_count) {
  long long const kinds = o.checkpoint.empty() ? 3 : 4;
  long long const passes = kinds * o.p * o.m * chunk_count * o.sequence_chunks;
  if (passes > most_passes)
    throw usage_error(fmt::format(
        "{} devices with {} micro-batches{} and {} per device make {} passes; the limit is {}", o.p, o.m,
        o.sequence_chunks > 1 ? fmt::format(" in {} pieces", o.sequence_chunks) : "",
        counted(chunk_count, "chunk"), passes, most_passes));
}

// Throws usage_error for wrong costs: the limit leaves a schedule already.
void must_fit(ashlar::layout_choice const& choice) {
  if (auto const d = ashlar::check(choice.problem); !d.ok()) throw usage_error(ashlar::explain(d));
}

// Costs given for each chunk of a sequence; none where they are of whole sequences.
std::optional<ashlar::costs> by_chunk_of(layout_options const& o, int stage_count) {
  if (!o.own_cost && o.cost.stages_from().empty()) return std::nullopt;
  ashlar::costs cost = costs_of(o);
  split_by_sequence_chunk(cost, stage_count, static_cast<int>(o.sequence_chunks));
  if (cost.passes.sequence_chunks() == 1) return std::nullopt;
  return cost;
}

// The costs of the stages of a layout. Those of a p-th of the model are divided among the stages.
ashlar::stage_costs costs_on(layout_options const& o, ashlar::placement const& where) {
  if (auto const each = by_chunk_of(o, where.stage_count())) return {of_whole_sequences(*each)};
  ashlar::costs cost = costs_of(o);
  if (!has_shared_costs(o)) return {std::move(cost)};
  ashlar::devices const p{where.device_count()};
  return costs_of_stages({.cost = std::move(cost), .piece_count = p.value},
                         ashlar::stages{where.stage_count()}, p);
}

void must_have_costs(layout_options const& o, ashlar::search_problem const& problem) {
  must_be_of_stages(o.cost, problem.cost, problem.where.stage_count());
  int const given = stages_in(problem.cost);
  if (!o.cost.stages_from().empty() && given != problem.where.stage_count()
      && !o.cost.are_of_all_stages())
    throw usage_error(fmt::format("'{}' has costs of {} stages, but {} on {} devices has {} stages",
                                  o.cost.stages_from(), given, o.placement, o.p,
                                  problem.where.stage_count()));
}

// Reads "0-2,4": single stages, or the first and the last of a range.
std::vector<int> read_stages(std::string const& option, std::string_view text) {
  std::vector<int> stages;
  read_list(option, text, [&](std::string_view entry) {
    auto const number = [&](std::string_view one) {
      return number_within<int>(option + ": a stage", one, 0, most_passes);
    };
    std::size_t const hyphen = entry.find('-');
    int const first = number(entry.substr(0, hyphen)),
              last = hyphen == std::string_view::npos ? first : number(entry.substr(hyphen + 1));
    if (last < first) throw usage_error(fmt::format("{}: {} goes down", option, entry));
    for (int stage = first; stage <= last; ++stage) stages.push_back(stage);
    return last;
  });
  return stages;
}

// Reads sets of stages, separated by '/': "none/0,1,4".
std::vector<std::vector<int>> read_sets(std::string const& text) {
  std::string const option = "--checkpoint-stages";
  std::vector<std::vector<int>> sets;
  for (std::string_view rest = text;; rest.remove_prefix(rest.find('/') + 1)) {
    std::string_view const one = rest.substr(0, rest.find('/'));
    std::vector<int> set;
    if (one != "none") set = read_stages(option, one);
    std::sort(set.begin(), set.end());
    if (auto const twice = std::adjacent_find(set.begin(), set.end()); twice != set.end())
      throw usage_error(fmt::format("{} names stage {} twice in a set", option, *twice));
    if (std::find(sets.begin(), sets.end(), set) != sets.end())
      throw usage_error(fmt::format("{} has the set {} twice", option, one));
    sets.push_back(std::move(set));
    if (rest.find('/') == std::string_view::npos) return sets;
  }
}

// Reads a positive number, or a percentage with its sign; false if it is neither.
bool read_share(std::string const& text, double& share) {
  char const* const last = text.data() + text.size();
  auto const [end, error] = std::from_chars(text.data(), last, share);
  bool const percent = end + 1 == last && *end == '%';
  if (percent) share /= 100;
  return error == std::errc{} && (end == last || percent) && share > 0;
}

// The memory of p micro-batches of a device's chunks, or of a p-th of the layers, in the unit of the
// layout's memory. For a graph it is that of the fullest device.
long long all_of_1f1b(ashlar::layout_choice const& c) {
  ashlar::search_problem const& problem = c.problem;
  if (!c.layers.empty()) {
    long long stashes = 0;
    for (ashlar::stage_memory const& m : problem.limit.memory.stages) stashes += m.stash;
    return stashes * c.sequence_chunks;
  }
  if (ashlar::is_of_a_chain(problem)) return problem.where.stage_count() * c.memory_unit;
  return ashlar::peak_of_all(ashlar::one_f_one_b_of(problem)) * c.memory_unit;
}

// The shape of a placement, also if it is given as a list but a formula makes it.
placement_kind shape_of(ashlar::placement const& where, int chunk_count) {
  ashlar::devices const p{where.device_count()};
  for (placement_kind const shape :
       {placement_kind::linear, placement_kind::v, placement_kind::looped, placement_kind::wave})
    if (where.stage_count() == p.value * chunk_count
        && (shape != placement_kind::linear || chunk_count == 1)
        && ((shape != placement_kind::v && shape != placement_kind::wave) || chunk_count % 2 == 0)
        && ashlar::lay_out(shape, p, chunk_count) == where)
      return shape;
  return placement_kind::given;
}

ashlar::layout_choice own_layout(layout_options const& o) {
  ashlar::placement const& where = *o.own;
  int count = 0;
  for (int d = 0; d < where.device_count(); ++d) count = std::max(count, ashlar::chunk_count(where, d));
  must_be_few(o, count);
  ashlar::stage_costs given = costs_on(o, where);
  ashlar::layout_choice chosen{.shape = shape_of(where, count),
                               .chunk_count = count,
                               .unit = given.unit,
                               .problem = {.where = where,
                                           .m = ashlar::micro_batches{static_cast<int>(o.m)},
                                           .cost = std::move(given.cost),
                                           .limit = ashlar::chunk_activations(ashlar::max_tick)}};
  if (o.graph) chosen.problem.graph = *o.graph;
  must_have_costs(o, chosen.problem);
  must_fit(chosen);
  chosen.problem.limit = ashlar::chunk_activations(all_of_1f1b(chosen));
  return chosen;
}

std::vector<ashlar::layout_choice> plain_layouts(layout_options const& o) {
  ashlar::devices const p{static_cast<int>(o.p)};
  ashlar::micro_batches const m{static_cast<int>(o.m)};
  if (!o.cost.per_micro_batch.empty() && o.sequence_chunks > 1)
    throw usage_error("--per-micro-batch has costs of whole sequences; --sequence-chunks cuts them");
  if (o.placement == "any") {
    if (o.v != 0) throw usage_error("-v/--chunks goes with --placement looped or wave, not any");
    ashlar::costs const cost = costs_of(o);
    if (!o.cost.stages_from().empty() || cost.passes.stages() != 0)
      throw usage_error(fmt::format("{} names the stages of one placement; say which with --placement",
                                    o.cost.measured                  ? "--costs"
                                    : o.cost.per_micro_batch.empty() ? "--per-stage"
                                                                     : "--per-micro-batch"));
    constexpr int most_chunks = 4;
    must_be_few(o, most_chunks);
    ashlar::model_share const model{p, m, cost};
    must_fit(ashlar::choose_layout(model, placement_kind::wave, most_chunks, 100));
    return ashlar::layouts_for(model, 100);
  }
  if (o.own) return {own_layout(o)};
  placement_kind const shape = o.placement == "v"        ? placement_kind::v
                               : o.placement == "looped" ? placement_kind::looped
                               : o.placement == "wave"   ? placement_kind::wave
                                                         : placement_kind::linear;
  int const count = chunk_count_of(shape, o);
  must_be_few(o, count);
  ashlar::placement const where = ashlar::lay_out(shape, p, count);
  ashlar::stage_costs given = costs_on(o, where);
  ashlar::layout_choice const chosen{
      .shape = shape,
      .chunk_count = count,
      .unit = given.unit,
      .problem = {where, m, std::move(given.cost), ashlar::chunk_activations(o.p * count)}};
  must_have_costs(o, chosen.problem);
  must_fit(chosen);
  return {chosen};
}

}  // namespace

bool has_shared_costs(layout_options const& o) {
  return !o.own_cost && !o.graph && o.cost.stages_from().empty() && costs_of(o).passes.stages() == 0;
}

ashlar::costs costs_of(layout_options const& o) {
  ashlar::costs cost = o.own_cost ? *o.own_cost : costs_of(o.cost, o.p, o.m);
  must_be_taken(o.late, [&o](int from, int to) {
    return from != to && std::min(from, to) >= 0 && std::max(from, to) < o.p;
  });
  delay_links(cost.on.links, o.late, o.cost.others, scale_of(o));
  return cost;
}

void complete_placement(layout_options& o) {
  if (lists_devices(o.placement)) {
    o.own = read_placement("--placement", o.placement);
    if (o.own->route_count() > 1)
      throw usage_error("--placement has several routes; a search is for one");
  }
  if (!o.own) return;
  if (o.v != 0) throw usage_error("-v/--chunks goes with --placement looped or wave");
  if (o.devices_option->count() > 0 && o.p != o.own->device_count())
    throw usage_error(fmt::format("-p/--devices is {}, but the placement has {}", o.p,
                                  counted(o.own->device_count(), "device")));
  o.p = o.own->device_count();
}

void add_layout_options(CLI::App& command, layout_options& o) {
  o.devices_option = add_number(command, "-p,--devices", o.p, 1, most_devices, "pipeline devices");
  add_number(command, "-m,--micro-batches", o.m, 1, most_micro_batches, "micro-batches");
  o.placement_option =
      command
          .add_option("--placement", o.placement,
                      "v, linear, looped or wave; any: each of these, with one, two and four chunks; or "
                      "the device of each stage, 0,1,2,3,3,2,1,0")
          ->check([](std::string const& text) {
            return lists_devices(text) ? std::string()
                                       : CLI::IsMember({"any", "v", "linear", "looped", "wave"})(text);
          })
          ->type_name("PLACEMENT")
          ->capture_default_str();
  add_number(command, "-v,--chunks", o.v, 1, most_devices,
             "stages on one device, for looped (default: 2) and wave (default: 2, a V)")
      ->default_str("");
  add_cost_options(command, o.cost, "a p-th of the model, in as many stages as a device has");
  command
      .add_option("--checkpoint", o.checkpoint,
                  "also try to recompute the first one, two, ... stages of every device, and only those "
                  "that leave no room for 1F1B; they keep this share of an activation until then: 0.06 "
                  "or 6%, or one share for each stage")
      ->type_name("SHARE");
  command
      .add_option_function<std::string>(
          "--checkpoint-stages", [&o](std::string const& text) { o.recomputed = read_sets(text); },
          "recompute these stages instead: 0-2,4; or try several such sets: none/0,1/0-2,4")
      ->type_name("STAGES")
      ->needs(command.get_option("--checkpoint"));
  add_number(command, "--sequence-chunks", o.sequence_chunks, 1, most_sequence_chunks,
             "also try to cut sequences into up to this many chunks, by powers of two");
}

ashlar::variety variety_of(layout_options const& o, ashlar::layout_choice const& plain) {
  ashlar::variety how{.most_sequence_chunks = static_cast<int>(o.sequence_chunks),
                      .causal = causal_share_of(o.cost.causal)};
  if (auto const each = by_chunk_of(o, plain.problem.where.stage_count())) {
    if (!o.cost.causal.empty()) throw usage_error(chunks_have_costs);
    how.by_sequence_chunk = *each;
  }
  if (o.checkpoint.empty()) return how;
  how.kept_percent = read_list("--checkpoint", o.checkpoint, [](std::string_view share) {
    return percent_kept("--checkpoint", std::string(share));
  });
  how.recomputed = o.recomputed;
  bool const names_stages = how.kept_percent.size() > 1 || !how.recomputed.empty();
  if (names_stages && o.placement == "any")
    throw usage_error(fmt::format("{} names the stages of one placement; say which with --placement",
                                  how.recomputed.empty() ? "--checkpoint" : "--checkpoint-stages"));
  int const count = plain.problem.where.stage_count();
  if (how.kept_percent.size() > 1 && static_cast<int>(how.kept_percent.size()) != count)
    throw usage_error(
        fmt::format("--checkpoint gives {} shares; there must be 1 for all stages, or 1 "
                    "for each of {}",
                    how.kept_percent.size(), count));
  for (std::vector<int> const& set : how.recomputed)
    if (!set.empty()) must_be_between("--checkpoint-stages: a stage", set.back(), 0, count - 1);
  return how;
}

int percent_kept(char const* option, std::string const& text) {
  double share = 0;
  if (!read_share(text, share) || share >= 1)
    throw usage_error(fmt::format("{} is a share of an activation, like 0.06 or 6%, not '{}'", option,
                                  text.substr(0, 64)));
  return static_cast<int>(std::ceil(share * 100 - 1e-9));
}

time_scale scale_of(layout_options const& o) { return o.own_cost ? o.own_scale : scale_of(o.cost); }

std::vector<ashlar::layout_choice> layouts_of(layout_options const& o) {
  std::vector<ashlar::layout_choice> all = plain_layouts(o);
  for (ashlar::layout_choice& c : all) c.unit *= scale_of(o).ticks_per_unit;
  return all;
}

long long read_memory(char const* option, std::string const& text) {
  constexpr double most = 1000;
  double value = 0;
  if (!read_share(text, value) || value > most)
    throw usage_error(fmt::format("{} is a share of 1F1B's activations, like 0.5 or 50%, not '{}'",
                                  option, text.substr(0, 64)));
  return std::llround(value * static_cast<double>(whole_memory));
}

long long part_of(long long memory, long long whole) {
  // It allows a thousandth of an activation more, so that 0.333333 is a third.
  return (memory * whole + whole_memory / 1000) / whole_memory;
}

long long limit_of(ashlar::layout_choice const& choice, long long memory) {
  return part_of(memory, all_of_1f1b(choice));
}

double share_of(ashlar::layout_choice const& choice, double memory) {
  return memory / static_cast<double>(all_of_1f1b(choice));
}

}  // namespace tool
