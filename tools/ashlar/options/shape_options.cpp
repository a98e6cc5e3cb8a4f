#include "options/shape_options.hpp"

#include "command.hpp"
#include "files/schedule_files.hpp"
#include "options/choice.hpp"
#include "options/effects.hpp"
#include "options/limits.hpp"
#include "options/memory_cap.hpp"
#include "options/number_option.hpp"
#include "options/shared_costs.hpp"
#include "options/suggest.hpp"
#include "report/counted.hpp"
#include "report/printed.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/schedule/without_devices.hpp>
#include <ashlar/search/micro_batch_order.hpp>

#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tool {

ashlar::catalog::entry const& entry_named(std::string const& name) {
  if (ashlar::catalog::entry const* const entry = ashlar::catalog::find_any(name)) return *entry;
  std::string const near = nearest_name(name);
  throw usage_error(fmt::format("there is no schedule '{}'{}; see `ashlar list`", name.substr(0, 64),
                                near.empty() ? "" : fmt::format(": did you mean '{}'?", near)));
}

void add_shape_options(CLI::App& command, shape_options& o) {
  command.add_option("name", o.name, "schedule: a name from `ashlar list`, or a file")
      ->required()
      ->type_name("NAME");
  add_size_options(command, o);
  add_number(
      command, "--improve", o.improve, 0, 1'000'000'000,
      "search for a better order within the same memory, dispatching this many passes; 0: as published");
  command.add_flag("--order", o.order,
                   "put the micro-batches of --per-micro-batch in the best order found, on the best "
                   "routes; the name says which");
  add_number(command, "--improve-seed", o.improve_seed, 0, UINT64_MAX, "seed of the random numbers");
  add_moving_options(command, o);
}

void add_moving_options(CLI::App& command, shape_options& o, std::string const& more) {
  command
      .add_option_function<std::string>(
          "--lost-devices",
          [&o](std::string const& text) {
            o.lost.clear();
            if (text == "none") return;
            o.lost = read_list("--lost-devices", text, [](std::string_view entry) {
              return number_within<int>("--lost-devices", entry, 0, most_devices - 1);
            });
          },
          "go on without these devices: the others keep their stages, and those of the lost ones move "
          "to where the step is shortest; none: all are there"
              + more)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name("LIST");
  add_number(command, "--moved-stages", o.moved, 0, most_devices,
             "stages that may move to other devices besides, if each makes the step shorter");
}

void add_size_options(CLI::App& command, shape_options& o) {
  o.command = &command;
  add_number(command, "-p,--devices", o.p, 1, most_devices, "pipeline devices");
  add_number(command, "-m,--micro-batches", o.m, 1, most_micro_batches, "micro-batches");
  add_number(command, "-v,--chunks", o.v, 1, most_devices,
             "stages on one device, where the schedule leaves the choice");
  add_number(command, "--waves", o.waves, 1, most_devices,
             "how often a micro-batch goes down the devices and back up (hanayo)");
  add_number(command, "--routes", o.routes, 1, most_devices, "routes through the devices (chimera)");
  add_number(command, "--rounds", o.rounds, 1, most_micro_batches,
             "depth-first rounds (breadth-first-hybrid)");
  add_number(command, "--group", o.group, 0, most_micro_batches,
             "micro-batches that a device runs on one chunk before it turns to the next (depth-first); "
             "0: the fastest");
  add_number(command, "--sequence-chunks", o.sequence_chunks, 1, most_micro_batches,
             "pieces of a micro-batch's sequence (seq1f1b)");
  using ashlar::catalog::unit_junction;
  add_choice<unit_junction>(command, "--unit-junction", o.junction,
                            {{"code", unit_junction::code}, {"figure", unit_junction::figure}},
                            "how basic units are joined (bitpipe): as in the authors' code (default) or "
                            "as in the paper's figure");
  add_cost_options(command, o.cost,
                   "a p-th of the model, in as many stages as a device has of the schedule");
}

ashlar::catalog::shape shape_of(ashlar::catalog::entry const& entry, shape_options const& o) {
  using ashlar::parameter;
  double passes = 2 * static_cast<double>(o.p) * static_cast<double>(o.m);  // of two kinds at least
  for (auto [which, times] : {std::pair{parameter::chunk_count, o.v},
                              {parameter::wave_count, 2 * o.waves},
                              {parameter::sequence_chunk_count, o.sequence_chunks}})
    if (entry.uses(which)) passes *= static_cast<double>(times);
  must_fit_in_memory(fmt::format("{} devices with {} micro-batches", o.p, o.m), passes);

  bool const cuts_sequences = entry.uses(parameter::sequence_chunk_count);
  return {.p = ashlar::devices{static_cast<int>(o.p)},
          .m = ashlar::micro_batches{static_cast<int>(o.m)},
          .cost = costs_of(o.cost, o.p, o.m, cuts_sequences ? static_cast<int>(o.sequence_chunks) : 1),
          .v = ashlar::chunks{static_cast<int>(o.v)},
          .w = ashlar::waves{static_cast<int>(o.waves)},
          .routes = static_cast<int>(o.routes),
          .rounds = static_cast<int>(o.rounds),
          .group = static_cast<int>(o.group),
          .junction = o.junction,
          .sequence_chunks = static_cast<int>(o.sequence_chunks)};
}

bool names_file(std::string const& name) {
  std::error_code ignored;
  return ashlar::catalog::find_any(name) == nullptr
         && (name == "-" || name.find_first_of("./") != std::string::npos
             || std::filesystem::is_regular_file(name, ignored));
}

chosen_schedule choose_file(std::string const& path, long long micro_batches, cost_options const& cost) {
  schedule_file read = read_schedule(path, micro_batches, cost);
  std::string const name = !read.name.empty() ? read.name
                           : path == "-"      ? "standard input"
                                              : std::filesystem::path(path).stem().string();
  return {printable(name),       fmt::format("from '{}'", printable(path)),
          std::move(read.block), std::move(read.schedule),
          std::move(read.scale), std::move(read.shares)};
}

named_schedules find_all(std::vector<std::string> const& names, long long micro_batches) {
  named_schedules all;
  for (std::string const& name : names)
    if (names_file(name))
      all.own.push_back(choose_file(name, micro_batches, {}));
    else
      all.known.push_back(&entry_named(name));
  return all;
}

long long micro_batches_of(ashlar::schedule const& s) {
  return s.micro_batch_count() / s.graph.sequence_chunks();
}

void adopt_size(CLI::App const& command, std::vector<chosen_schedule> const& own, long long& p,
                long long& m) {
  if (own.empty()) return;
  if (command.count("-p") == 0) p = own[0].schedule.device_count();
  if (command.count("-m") == 0) m = micro_batches_of(own[0].schedule);
}

std::string refused_costs(ashlar::catalog::entry const& entry, ashlar::catalog::shape shape,
                          cost_options const& cost) {
  shape.cost = {};
  if (cost.per_micro_batch.empty() || !entry.check(shape).ok()
      || entry.make(shape).micro_batch_count() == shape.m.value)
    return {};
  return "takes micro-batches in parts, and --per-micro-batch has costs of whole ones";
}

std::string refused_costs(ashlar::schedule const& own, long long m, cost_options const& cost) {
  if (cost.per_micro_batch.empty() || own.micro_batch_count() == m) return {};
  return fmt::format("has {}, but --per-micro-batch has costs of {}",
                     counted(own.micro_batch_count(), "micro-batch"), m);
}

namespace {

chosen_schedule from_catalog(shape_options const& o) {
  ashlar::catalog::entry const& entry = entry_named(o.name);
  ashlar::catalog::shape shape = shape_of(entry, o);
  if (auto const d = entry.check(shape); !d.ok())
    throw usage_error(fmt::format("{}: {}", entry.name, ashlar::explain(d)));
  std::string const what = fmt::format("{} devices with {} micro-batches", o.p, o.m);
  std::optional<ashlar::block> block;
  if (entry.block_of != nullptr) {
    block = entry.block_of(shape);
    auto const times = static_cast<double>(o.m) / block->micro_batch_count();
    must_fit_in_memory(what, block->graph, times * static_cast<double>(block->cells.size()),
                       static_cast<double>(o.m));
  }
  ashlar::catalog::shape alike = shape;  // how many stages there are shows in any costs
  alike.cost = {};
  ashlar::schedule const usual = entry.make(alike);
  must_fit_in_memory(what, usual);
  int const stage_count = usual.stage_count(), q = usual.graph.sequence_chunks();
  must_leave_chunks_to_causal(o.cost, stage_count, q);
  must_be_of_stages(o.cost, shape.cost, stage_count);
  std::optional<shared_costs> shared = share_costs(o.cost, o.p, o.m, usual);
  if (shared) shape.cost = std::move(shared->cost);
  if (!o.cost.stages_from().empty()) {
    split_by_sequence_chunk(shape.cost, stage_count, q);
    if (shape.cost.passes.sequence_chunks() == 1 && stages_in(shape.cost) != stage_count
        && !o.cost.are_of_all_stages())
      throw usage_error(fmt::format("'{}' has costs of {} stages, but {} on {} devices has {} stages",
                                    o.cost.stages_from(), stages_in(shape.cost), entry.name, o.p,
                                    stage_count));
  }
  if (auto const d = ashlar::check(shape.cost, stage_count, shape.p.value, usual.micro_batch_count(), q);
      !d.ok())
    throw usage_error(ashlar::explain(d));
  ashlar::schedule made = entry.make(shape);
  must_fit_in_memory(what, made);
  return {entry.name,
          fmt::format("{} ({})", entry.summary, entry.source),
          std::move(block),
          std::move(made),
          shared ? std::move(shared->scale) : scale_of(o.cost, q),
          shared ? std::move(shared->words) : ""};
}

// Only the catalog's schedules leave a choice.
void must_have_parameters(shape_options const& o) {
  if (o.command == nullptr) return;
  std::vector<std::string> all = o.beside;
  all.insert(all.begin(), o.name);
  std::vector<ashlar::catalog::entry const*> entries;
  for (std::string const& name : all)
    if (!names_file(name)) entries.push_back(&entry_named(name));
  must_have_effect(*o.command, effects_on(entries, fmt::format("{}", fmt::join(all, " and "))));
}

// A file has sizes of its own, but for a building block's number of micro-batches.
void must_suit(shape_options const& o, chosen_schedule const& chosen) {
  if (o.command == nullptr) return;
  ashlar::schedule const& s = chosen.schedule;
  bool const own = names_file(o.name);
  must_have_effect(
      *o.command,
      {{"--devices", !own || o.p == s.device_count(),
        fmt::format("on {}: it is of {}", chosen.name, counted(s.device_count(), "device"))},
       {"--micro-batches", !own || chosen.block || o.m == micro_batches_of(s),
        fmt::format("on {}: it is of {}", chosen.name, counted(micro_batches_of(s), "micro-batch"))},
       {"--improve-seed", o.improve > 0, "without --improve"},
       {"--order", s.cost.passes.micro_batches() != 0, "without --per-micro-batch"}});
  if (o.beside.empty()) must_have_effect(*o.command, effects_on(traits_of({&s}), chosen.name));
}

// The name says that it is another order than the published one.
void improve(chosen_schedule& chosen, shape_options const& o) {
  if (!ashlar::can_be_improved(chosen.schedule))
    throw usage_error(fmt::format(
        "{}: --improve is for training schedules without overlapped pairs and recomputes", chosen.name));
  chosen.schedule = ashlar::improve(chosen.schedule, {.passes = o.improve, .seed = o.improve_seed});
  chosen.name +=
      fmt::format(" (order improved by search, {} passes, seed {})", o.improve, o.improve_seed);
}

void put_in_order(chosen_schedule& chosen) {
  try {
    ashlar::ordered_micro_batches found = ashlar::order_micro_batches(chosen.schedule);
    chosen.schedule = std::move(found.best);
    chosen.block.reset();
    chosen.name += fmt::format(" (micro-batches {})", fmt::join(found.order, " "));
  } catch (ashlar::violation const& e) {
    if (e.why.broken != ashlar::rule::overlapped_passes_are_a_pair) throw;
    throw usage_error(fmt::format("{}: --order is for schedules without overlapped pairs", chosen.name));
  }
}

// The name says which stages have moved, and where.
void move_stages(chosen_schedule& chosen, shape_options const& o) {
  ashlar::schedule& s = chosen.schedule;
  if (!s.work.empty())
    throw usage_error(
        fmt::format("{}: its work has devices of its own, so no stages can move", chosen.name));
  for (int const device : o.lost)
    if (device >= s.device_count())
      throw usage_error(fmt::format("--lost-devices: {} has no device {}, only 0 to {}", chosen.name,
                                    device, s.device_count() - 1));
  if (std::set<int>(o.lost.begin(), o.lost.end()).size() == static_cast<std::size_t>(s.device_count()))
    throw usage_error(fmt::format("--lost-devices: {} has no device left", chosen.name));
  std::vector<int> const left = ashlar::devices_left(s.device_count(), o.lost);
  ashlar::placement const before = s.where;
  s = ashlar::without_devices(std::move(s), o.lost, {.more = o.moved});
  std::vector<std::string> moves;
  for (int route = 0; route < before.route_count(); ++route)
    for (int stage = 0; stage < before.stage_count(); ++stage)
      if (int const d = s.where.device_of(route, stage);
          left[static_cast<std::size_t>(d)] != before.device_of(route, stage))
        moves.push_back(fmt::format("{} to {}", stage, left[static_cast<std::size_t>(d)]));
  if (o.lost.empty() && moves.empty()) return;
  chosen.block.reset();
  chosen.name += fmt::format(" ({}{}{}{})",
                             o.lost.empty()       ? ""
                             : o.lost.size() == 1 ? "without device "
                                                  : "without devices ",
                             fmt::join(o.lost, ", "), o.lost.empty() || moves.empty() ? "" : "; ",
                             moves.empty() ? "" : fmt::format("stage {}", fmt::join(moves, ", ")));
}

}  // namespace

chosen_schedule choose(shape_options const& o) {
  must_have_parameters(o);
  chosen_schedule chosen = names_file(o.name) ? choose_file(o.name, o.m, o.cost) : from_catalog(o);
  must_suit(o, chosen);
  if (ashlar::schedule const& s = chosen.schedule; is_chain(s.graph)) {
    long long const m = names_file(o.name) ? micro_batches_of(s) : o.m;
    chosen.division = {.pieces = s.device_count(),
                       .stages = s.stage_count(),
                       .parts = static_cast<int>(s.micro_batch_count() / std::max(1LL, m))};
  }
  if (!o.lost.empty() || o.moved > 0) move_stages(chosen, o);
  if (o.improve > 0) improve(chosen, o);
  if (o.order) put_in_order(chosen);
  return chosen;
}

void divide_sizes(ashlar::memory_model& memory, chosen_schedule const& chosen,
                  cost_options const& cost) {
  divide_sizes(memory, chosen.division,
               !cost.sizes.empty() && chosen.schedule.cost.passes.stages() != 0);
}

ashlar::block const& block_of(chosen_schedule const& chosen) {
  if (!chosen.block)
    throw usage_error(fmt::format("{} is not made by repeating a building block", chosen.name));
  return *chosen.block;
}

}  // namespace tool
