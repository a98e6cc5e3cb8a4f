// The study behind `ashlar tradeoff`: which schedules, on which batches and clusters.
#pragma once

#include "options/shape_options.hpp"
#include "report/proved_gap.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/study/tradeoff.hpp>

#include <list>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// One schedule on one batch; cost and time if a cluster is given.
struct operating_point {
  ashlar::pipeline_choice choice = {};
  int device_count = 0;
  double batch = 0;  // samples a device
  double utilisation = 0;
  std::optional<double> most = {};  // that any schedule of these passes can reach, once it is asked for
  double cost = 0;
  double time = 0;

  // The share by which the step is longer than it has to be, and so are cost and time.
  double gap() const { return proved_gap(*most, utilisation); }
};

// A schedule of the catalog, or of a file: a building block for any number of micro-batches, or a
// schedule for its own.
struct studied_name {
  ashlar::catalog::entry const* entry = nullptr;
  std::optional<chosen_schedule> own = {};

  std::string name() const { return own ? own->name : entry->name; }
};

struct tradeoff_study {
  std::string title;
  ashlar::layered_model model;
  double critical_batch = 0;  // samples
  int pipeline = 8;           // devices
  std::vector<int> loops, micro_batches, clusters;
  std::vector<studied_name> schedules;
  std::vector<std::string> blocking;  // names of those whose transfers stop the passes
};

struct studied_schedule {
  std::string name;
  std::list<ashlar::schedule> own = {};  // what points refer to
  std::vector<operating_point> points;   // every batch with every number of loops
  std::vector<operating_point> upper;    // every batch with the best of them, by batch
  std::vector<operating_point> best;     // for each cluster size, of least cost
};

// Throws usage_error for files that cannot be read or do not say what they must.
tradeoff_study read_study(std::string const& model_file, std::string const& cluster_file);

std::vector<studied_schedule> run(tradeoff_study const& study);

// Bounds take longer than schedules.
void find_bounds(tradeoff_study const& study, std::vector<operating_point>& points);

}  // namespace tool
