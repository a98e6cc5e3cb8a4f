// The options of `ashlar plan`, and its answer where `ashlar predict` has formulas.
#pragma once

#include "files/files.hpp"
#include "predict/frameworks.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tool {

struct plan_options {
  std::string model, cluster, costs;
  int batch = 0, sequence = 0, top = 5;
  double margin = 10, tokens = 0, search = 2;
  std::string objective = "time";
  std::string attention = "flash";
  std::vector<int> causal;
  std::string schedules;
  std::string fixed, against, runs_in;
  bool any_precision = false, offloads = false;
  bool explains = false;
  std::string format = "text";
  std::vector<std::string> emitted;
  std::string program, output = "-";
};

// A file of --emit: of a framework, FRAMEWORK:FILE, or of the schedule.
struct emitted_file {
  framework const* of = nullptr;
  std::string path;
  output to;
};

std::vector<emitted_file> emitted_files(std::vector<std::string> const& all);
bool is_json(std::string const& path);

// Runs the command for models and devices that `ashlar predict` knows; returns its exit code.
int plan_by_formulas(CLI::App const& command, plan_options const& o);

}  // namespace tool
