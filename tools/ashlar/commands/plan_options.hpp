// The options of `ashlar plan`, and its run.
#pragma once

#include <ashlar/program/program.hpp>

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tool {

struct plan_options {
  std::string model, cluster, costs, run;
  int batch = 0, sequence = 0, top = 5;
  double margin = 0, tokens = 0, search = 0;
  std::string objective = "time";
  std::string attention = "flash";
  std::vector<int> causal;
  std::optional<ashlar::transfer_lanes> lanes;
  std::string schedules;
  std::string fixed, against, runs_in;
  bool any_precision = false, offloads = false;
  bool explains = false, asks_why = false;
  std::string format = "text";
  std::vector<std::string> emitted;
  std::string program, output = "-", certificate;
};

// Runs the command; returns its exit code.
int run_plan(CLI::App const& command, plan_options const& o);

}  // namespace tool
