// Residency of weights by PyTorch's rule: the actions that its own function writes (torch 2.15.0,
// _add_unshard_reshard; data/pytorch/unshards.txt), and ours, written and read.
#include <ashlar/interop/pytorch_comms.hpp>
#include <ashlar/interop/pytorch_csv.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/residency_rules.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

// The cells of a line: passes, a pair in one cell, and actions of weights.
std::vector<std::string> action_cells(std::string const& line) {
  std::vector<std::string> found;
  std::istringstream from(line);
  for (std::string cell; std::getline(from, cell, ',');) found.push_back(cell);
  return found;
}

bool ends_in(std::string const& text, std::string const& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// The passes and actions of weights alone; releases of one place in the order of their stages, because
// their order means nothing.
std::vector<std::string> weights_and_passes(std::string const& line) {
  std::vector<std::string> kept;
  for (std::string const& cell : action_cells(line)) {
    if (cell.find("SEND") != std::string::npos || cell.find("RECV") != std::string::npos
        || cell.find("REDUCE_GRAD") != std::string::npos)
      continue;
    kept.push_back(cell);
    for (std::size_t i = kept.size() - 1; i > 0 && ends_in(kept[i], "RESHARD")
                                          && ends_in(kept[i - 1], "RESHARD") && kept[i] < kept[i - 1];
         --i)
      std::swap(kept[i], kept[i - 1]);
  }
  return kept;
}

struct unshard_case {
  std::string name;
  residency_rule rule;
  std::vector<std::string> lines = {};
};

std::vector<unshard_case> unshard_cases() {
  std::ifstream file(ASHLAR_TEST_DATA "/pytorch/unshards.txt");
  REQUIRE(file);
  std::vector<unshard_case> all;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Schedule", 0) != 0) {
      all.back().lines.push_back(line);
      continue;
    }
    unshard_case& next = all.emplace_back();
    std::istringstream(line) >> next.name >> next.rule.stages >> next.rule.lookahead;
  }
  return all;
}

// The file without what gathers and gives up.
std::string passes_of(unshard_case const& c) {
  std::string passes;
  for (std::string const& line : c.lines) {
    std::string kept;
    for (std::string const& cell : action_cells(line))
      if (!ends_in(cell, "SHARD")) kept += (kept.empty() ? "" : ",") + cell;
    passes += kept + '\n';
  }
  return passes;
}

}  // namespace

TEST_CASE("the window is PyTorch's") {
  std::vector<unshard_case> const all = unshard_cases();
  CHECK(all.size() == 7);
  for (unshard_case const& c : all) {
    CAPTURE(c.name);
    csv_schedule const read = read_pytorch_csv(passes_of(c));
    REQUIRE(read.value);
    residency const plan = planned_residency(*read.value, c.rule);
    program const p =
        lower(*read.value, {.data_ranks = 2, .sharding = sharding_level::weights, .weights = plan});
    std::istringstream ours(pytorch_comms_csv(p));
    for (std::string const& expected : c.lines) {
      std::string line;
      REQUIRE(std::getline(ours, line));
      CHECK(weights_and_passes(line) == weights_and_passes(expected));
    }
  }
}

TEST_CASE("a plan is written and read") {
  for (unshard_case const& c : unshard_cases()) {
    CAPTURE(c.name);
    if (c.name == "ScheduleLoopedBFS") continue;  // its losses are out of turn
    schedule const s = *read_pytorch_csv(passes_of(c)).value;
    program const p =
        lower(s, {.data_ranks = 2,
                  .sharding = sharding_level::weights,
                  .weights = planned_residency(s, {.stages = 2, .passes_ahead = 2, .window = false})});
    CHECK(pytorch_obstacle(p) == "");
    std::string const text = pytorch_comms_csv(p);
    csv_program const back = read_pytorch_comms(text);
    REQUIRE(back.value);
    CHECK(pytorch_comms_csv(*back.value) == text);
  }
}
