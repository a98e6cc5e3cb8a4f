#include "options/limit_options.hpp"

#include "command.hpp"
#include "options/byte_options.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include "options/per_stage.hpp"
#include "options/shared_sizes.hpp"
#include "report/layout_names.hpp"
#include "report/table.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

namespace tool {

namespace {

// The memory of the layout's stages, one entry if they are alike. Sizes are those of a p-th of the
// model, except where micro-batches have stashes of each stage, or stages are no consecutive pieces.
ashlar::memory_model memory_of(ashlar::layout_choice const& c, limit_options const& o,
                               cost_options const& cost) {
  if (!o.per_stage.empty() && cost.sizes.empty()) {
    std::vector<ashlar::stage_memory> each = read_per_stage_bytes(o.per_stage);
    if (static_cast<int>(each.size()) != c.problem.where.stage_count())
      throw usage_error(fmt::format("'{}' has sizes of {} stages, but {} on {} devices has {} stages",
                                    o.per_stage, each.size(), layout_name(c),
                                    c.problem.where.device_count(), c.problem.where.stage_count()));
    return {.stages = std::move(each)};
  }
  ashlar::memory_model made = with_sizes(o.stage, cost, c.problem.m.value, *o.command);
  if (!ashlar::is_of_a_chain(c.problem)) return made;
  ashlar::placement const& where = c.problem.where;
  divide_sizes(made, {.pieces = where.device_count(), .stages = where.stage_count()},
               !cost.sizes.empty() && c.problem.cost.passes.stages() != 0);
  return made;
}

// The entries of all devices; if they are alike, the one. Chunk activations may be parts of one where
// chunks recompute or sequences are cut.
std::vector<double> entries_of(ashlar::layout_choice const& c, limit_options const& o) {
  std::vector<double> all(o.bytes.begin(), o.bytes.end());
  if (o.bytes.empty())
    for (std::int64_t const n : c.problem.limit.budget)
      all.push_back(static_cast<double>(n) / static_cast<double>(c.memory_unit));
  if (std::equal(all.begin() + 1, all.end(), all.begin())) all.resize(1);
  return all;
}

}  // namespace

void add_limit_options(CLI::App& command, limit_options& o) {
  o.command = &command;
  auto* const limit =
      add_numbers(command, "--limit", o.activations, 1, most_activations,
                  "chunk activations that a device may hold, or one number per device: 8,8,6,6");
  auto* const memory =
      command
          .add_option("--memory", o.memory,
                      "what a device may hold, as a share of 1F1B's activations: 0.5 or 50%")
          ->type_name("SHARE")
          ->capture_default_str()
          ->excludes(limit);
  auto* const bytes =
      command
          .add_option_function<std::string>(
              "--limit-bytes",
              [&o](std::string const& text) {
                o.bytes = read_list("--limit-bytes", text, [](std::string_view one) {
                  return read_bytes("--limit-bytes", std::string(one));
                });
              },
              "memory of a device, 80GiB, or one number per device; messages are not counted")
          ->type_name("BYTES")
          ->excludes(limit)
          ->excludes(memory);
  std::vector<CLI::Option*> sizes = add_stage_bytes(command, o.stage);
  sizes.push_back(
      add_bytes(command, "--stash-left-bytes", o.stage.stash_left,
                "what remains of a stash between the input and the weight pass (default: all)"));
  auto* const per_stage =
      command
          .add_option("--per-stage-bytes", o.per_stage,
                      "sizes of each stage, one line per stage: `resident,stash` or "
                      "`resident,stash,left`; resident is what lies there all the time")
          ->type_name("FILE")
          ->needs(bytes);
  for (CLI::Option* const size : sizes) size->needs(bytes)->excludes(per_stage);
}

void must_be_one_or_each(char const* option, std::size_t given, int device_count) {
  if (given != 1 && given != static_cast<std::size_t>(device_count))
    throw usage_error(
        fmt::format("{} gives {} limits; there must be 1 for all devices, or 1 for each of {}", option,
                    given, device_count));
}

void must_suit(limit_options const& o, std::string const& placement, bool are_sized) {
  if (!o.activations.empty() && placement == "any")
    throw usage_error(
        "--limit counts chunks, which --placement any has of several sizes; take --memory, "
        "--limit-bytes or a placement");
  if (!o.per_stage.empty() && placement == "any")
    throw usage_error("--per-stage-bytes names the stages of one placement; say which with --placement");
  if (o.bytes.empty() || !o.per_stage.empty() || are_sized) return;
  if (o.stage.stash == 0)
    throw usage_error(
        "--limit-bytes needs --stash-bytes of 1 or more, --per-stage-bytes, or a --per-micro-batch "
        "with stashes");
  if (o.stage.stash_left != ashlar::stage_memory::all)
    must_be_between("--stash-left-bytes", o.stage.stash_left, 0, o.stage.stash);
}

std::vector<ashlar::layout_choice> limited(ashlar::layout_choice c, limit_options const& o,
                                           cost_options const& cost, ashlar::variety const& how) {
  int const p = c.problem.where.device_count();
  if (!o.bytes.empty()) {
    must_be_one_or_each("--limit-bytes", o.bytes.size(), p);
    if (c.layers.empty()) c.problem.limit = {.memory = memory_of(c, o, cost), .budget = o.bytes};
  } else if (!o.activations.empty()) {
    must_be_one_or_each("--limit", o.activations.size(), p);
    c.problem.limit.budget.assign(o.activations.begin(), o.activations.end());
  } else {
    c.problem.limit.budget = {limit_of(c, read_memory("--memory", o.memory))};
  }
  std::vector<ashlar::layout_choice> all = ashlar::variants_of(c, how);
  if (o.bytes.empty() && o.activations.empty())
    for (ashlar::layout_choice& v : all)
      v.problem.limit.budget = {limit_of(v, read_memory("--memory", o.memory))};
  return all;
}

std::optional<shortfall> shortfall_of(ashlar::layout_choice const& c, limit_options const& o) {
  ashlar::memory_limit const& limit = c.problem.limit;
  ashlar::diagnosis const d = ashlar::check(c.problem);
  if (d.ok()) return std::nullopt;
  int const first = d.first.device;
  if (o.bytes.empty()) {
    double const share = share_of(c, static_cast<double>(d.number));
    auto const activations = [&](std::int64_t memory) {
      return static_cast<double>(memory) / static_cast<double>(c.memory_unit);
    };
    return shortfall{fmt::format("{}: number of {} on device {} must be at least {:g}, "
                                 "not {:g}; that is {} % of what 1F1B holds",
                                 layout_name(c), unit_of_limit(c, o), first, activations(d.number),
                                 activations(d.given), percent(share)),
                     share, activations(d.number), fmt::format("{:g}", activations(d.number))};
  }
  // The device that needs most says how much would do for all.
  auto const in_bytes = [&](ashlar::byte_count memory) {
    return (memory + c.memory_unit - 1) / c.memory_unit;
  };
  auto const resident = [&](int device) {
    return in_bytes(limit.memory.resident_on(c.problem.where, device));
  };
  std::vector<ashlar::byte_count> const least = ashlar::smallest_budgets(c.problem);
  auto const needed = [&](int device) { return in_bytes(least[static_cast<std::size_t>(device)]); };
  ashlar::byte_count most = 0;
  for (int device = 0; device < c.problem.where.device_count(); ++device)
    most = std::max(most, needed(device));
  return shortfall{
      fmt::format(
          "{}: device {} needs {} ({} of weights, gradients and optimizer state, {} of one "
          "micro-batch), but --limit-bytes gives it {}; the smallest limit for all devices is {}",
          layout_name(c), first, text_of_bytes(needed(first)), text_of_bytes(resident(first)),
          text_of_bytes(needed(first) - resident(first)),
          text_of_bytes(in_bytes(limit.budget_of(first))), text_of_bytes(most)),
      static_cast<double>(most), static_cast<double>(most), text_of_bytes(most)};
}

std::string words_of_limit(ashlar::layout_choice const& c, limit_options const& o) {
  std::string words;
  for (double const n : entries_of(c, o))
    words += (words.empty() ? "" : ",")
             + (o.bytes.empty() ? fmt::format("{:g}", n) : text_of_bytes(std::llround(n)));
  return words;
}

char const* unit_of_limit(ashlar::layout_choice const& c, limit_options const& o) {
  return !o.bytes.empty() ? "bytes" : c.layers.empty() ? "chunk activations" : "layer activations";
}

nlohmann::ordered_json json_of_limit(ashlar::layout_choice const& c, limit_options const& o) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (double const n : entries_of(c, o))
    all.push_back(n == std::floor(n) ? nlohmann::ordered_json(std::llround(n))
                                     : nlohmann::ordered_json(n));
  return all.size() == 1 ? all[0] : all;
}

double share_of_limit(ashlar::layout_choice const& c) {
  ashlar::search_problem problem = c.problem;
  ashlar::memory_model& all_kept = problem.limit.memory;
  for (ashlar::stage_memory& m : all_kept.stages) m.checkpoint = ashlar::stage_memory::all;
  int const p = problem.where.device_count();
  // A chain's device holds p micro-batches of its stages.
  bool const is_chain = ashlar::is_of_a_chain(problem);
  std::vector<ashlar::byte_count> const held =
      is_chain ? ashlar::smallest_budgets(problem)
               : ashlar::peak_memory(ashlar::one_f_one_b_of(problem), all_kept);
  ashlar::byte_count all_layers = 0;  // of a p-th of them, p micro-batches
  for (ashlar::stage_memory const& m : all_kept.stages)
    all_layers += c.layers.empty() ? 0 : m.stash * c.sequence_chunks;
  double most = 0;
  for (int device = 0; device < p; ++device) {
    ashlar::byte_count const resident = all_kept.resident_on(problem.where, device),
                             one = all_layers > 0 ? all_layers
                                                  : held[static_cast<std::size_t>(device)] - resident;
    if (one == 0) continue;  // no stage there
    most = std::max(most, static_cast<double>(problem.limit.budget_of(device) - resident)
                              / static_cast<double>(one));
  }
  return is_chain && all_layers == 0 ? most / p : most;
}

}  // namespace tool
