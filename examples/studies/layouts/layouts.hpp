// Trials of layouts, and predictions for them.
#pragma once

#include "../csv.hpp"
#include "../formulas/layout.hpp"
#include "../report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace layouts {

constexpr double gib = 1024.0 * 1024 * 1024;

struct trial {
  systems::csv_row row;
  formulas::transformer model;
  formulas::training_layout layout;
  int devices = 0;
  double batch = 0;

  bool has_run() const { return !row.at("step_s").empty(); }
  bool counts() const { return row.at("status") == "ok" || row.at("status") == "oom"; }
  bool is_out_of_memory() const { return row.at("status") == "oom"; }
  double seconds() const { return std::stod(row.at("step_s")); }
  int micro_batches() const {
    return std::max(1, static_cast<int>(batch / (layout.data * layout.micro_batch)));
  }
};

using sweep = std::tuple<std::string, std::string, int, int>;  // sweep, model, sequence, devices
using trials_by_sweep = std::map<sweep, std::vector<trial const*>>;

std::string name_of(sweep const& key);

double bytes_of(trial const& t);

// The fastest trial of those that ran.
trial const* fastest_of(std::vector<trial const*> const& trials);

// Checks the memory model's figures over all trials.
void check_memory(systems::report& r, nlohmann::json const& gold, std::vector<trial> const& all);

// Prints step times predicted with constants from two sweeps, for each sweep.
void predict_others(trials_by_sweep const& sweeps);

// Prints the result of the first few layouts that the rules recommend for a sweep, if they are ranked by
// times with constants from all other sweeps. They have run, in the order of the rules.
void rank_first_few(trials_by_sweep const& sweeps, trials_by_sweep const& recommended);

}  // namespace layouts
