// The options that say which schedule is meant: its name, its size, its costs.
#pragma once

#include "options/cost_options.hpp"
#include "options/shared_sizes.hpp"
#include <ashlar/catalog/entries.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

struct shape_options {
  CLI::App const* command = nullptr;     // that they were given to
  std::vector<std::string> beside = {};  // names of other schedules that they are for, too
  std::string name = {};
  long long p = 4;
  long long m = 8;
  cost_options cost = {};
  long long v = 2;
  long long waves = 1;
  long long routes = 2;
  long long rounds = 1;
  long long group = 0;
  ashlar::catalog::unit_junction junction = ashlar::catalog::unit_junction::code;
  long long sequence_chunks = 2;
  long long improve = 0;  // passes to dispatch in search of a better order
  std::uint64_t improve_seed = 1;
  bool order = false;          // the micro-batches of --per-micro-batch in the best order found
  std::vector<int> lost = {};  // devices, in the order in which they were lost
  int moved = 0;               // stages that may move, besides those of lost devices
};

void add_shape_options(CLI::App& command, shape_options& options);

// Adds the options that move stages: devices that are lost, and stages that may move besides. `more`
// ends the help of the first.
void add_moving_options(CLI::App& command, shape_options& options, std::string const& more = {});

// Adds size, parameters and costs alone.
void add_size_options(CLI::App& command, shape_options& options);

// Throws usage_error for an unknown name.
ashlar::catalog::entry const& entry_named(std::string const& name);

// The shape to build the entry for. Throws usage_error for sizes out of range.
ashlar::catalog::shape shape_of(ashlar::catalog::entry const& entry, shape_options const& options);

struct chosen_schedule {
  std::string name, about;             // what it is, its order improved or not, and its source
  std::optional<ashlar::block> block;  // if the schedule is made from one
  ashlar::schedule schedule;
  time_scale scale = {};    // of its costs
  std::string shares = {};  // which part of the model a stage has, if costs are of another; else empty
  model_division division = {};
};

// Divides the sizes of the command line as the schedule divides the model. Stages that are no chain have
// them whole.
void divide_sizes(ashlar::memory_model& memory, chosen_schedule const& chosen, cost_options const& cost);

// Whether a name is that of a file: names of the catalog are not, all others may be.
bool names_file(std::string const& name);

// Reads your own schedule, under the costs of its file or those given. Throws as read_schedule().
chosen_schedule choose_file(std::string const& path, long long micro_batches, cost_options const& cost);

// Names and files, separately. Files are under their own costs. Throws as the above.
struct named_schedules {
  std::vector<chosen_schedule> own;
  std::vector<ashlar::catalog::entry const*> known;
};
named_schedules find_all(std::vector<std::string> const& names, long long micro_batches);

// The micro-batches of a schedule, where they are its own: whole sequences.
long long micro_batches_of(ashlar::schedule const& s);

// Sets -p and -m of `command` to those of the first of your own schedules, unless they are given.
void adopt_size(CLI::App const& command, std::vector<chosen_schedule> const& own, long long& p,
                long long& m);

// Why costs of each of m micro-batches (--per-micro-batch) do not suit a schedule's passes; empty where
// they do, or are not given.
std::string refused_costs(ashlar::catalog::entry const& entry, ashlar::catalog::shape shape,
                          cost_options const& cost);
std::string refused_costs(ashlar::schedule const& own, long long m, cost_options const& cost);

// Returns a schedule of the catalog or of a file. Throws usage_error for an unknown name, sizes out of
// range, or costs that do not fit.
chosen_schedule choose(shape_options const& options);

// The building block. Throws usage_error if the schedule is not a repeated one.
ashlar::block const& block_of(chosen_schedule const& chosen);

}  // namespace tool
