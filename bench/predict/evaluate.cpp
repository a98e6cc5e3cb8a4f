// Answers to all runs of a file at once: what fit.py asks again and again.
//
//   bench_predict_evaluate RUNS.csv CONSTANTS.json answers   a line of JSON a run
//   bench_predict_evaluate RUNS.csv CONSTANTS.json seconds   for each line of constants, as
//                                                            `constant_names` has them, steps' seconds
#include "predict/constants_file.hpp"
#include "predict/question_options.hpp"
#include "predict/runs_file.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tool;

void print_answers(std::vector<measured_run>& runs) {
  for (measured_run& run : runs) {
    nlohmann::json line;
    try {
      answer_it(run.asked);
      line = nlohmann::json::parse(json_of(run.asked));
      line["kernels"] = words_for(kernels_of(run.asked.asked));
      line["host_link"] = run.asked.asked.cluster.device().host.link;
      line["peak_bytes_first"] = run.asked.answer.memory.front().all();
      line.erase("memory");
      line.erase("terms");
    } catch (std::exception const& e) {
      line["error"] = e.what();
    }
    fmt::print("{}\n", line.dump());
  }
}

void print_seconds(std::vector<measured_run>& runs) {
  std::vector<std::vector<ashlar::cost::stage>> stages;
  for (measured_run const& run : runs) stages.push_back(stages_of(run.asked.asked));
  for (;;) {
    ashlar::cost::constants c;
    for (ashlar::cost::named_constant const& each : ashlar::cost::constant_names)
      if (!(std::cin >> c.*each.value)) return;
    std::string line;
    for (std::size_t i = 0; i < runs.size(); ++i)
      line += fmt::format("{:.17g} ", step_of(runs[i].asked.asked, stages[i], c).seconds);
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("usage: RUNS.csv CONSTANTS.json answers|seconds");
    std::vector<measured_run> runs = read_runs(argv[1], read_constants(argv[2]));
    if (std::string_view(argv[3]) == "answers")
      print_answers(runs);
    else
      print_seconds(runs);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
