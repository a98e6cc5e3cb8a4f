// Vocabulary parallelism: measured training steps, simulated from the measured times of their passes.
#include "studies/csv.hpp"
#include "studies/report.hpp"
#include "studies/vocabulary/barrier.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

constexpr int p = 8;

std::string schedule_of(std::string const& method) {
  static std::map<std::string, std::string> const names{{"base", "1f1b"},
                                                        {"redis", "1f1b"},
                                                        {"synctwice", "vocab-1"},
                                                        {"vocab", "vocab-2"},
                                                        {"interlaced", "interlaced"}};
  auto const found = names.find(method);
  if (found == names.end()) throw std::runtime_error("no method " + method);
  return found->second;
}

// Ticks are microseconds. The file has one time of the output layer's shard, for S and T together. It is
// divided by matrix products: S has one of three with two barriers and interlaced, two with one barrier.
// Three more times per device have no names in the file; they count as parts of the device's forward,
// backward and S.
costs costs_of(systems::csv_row const& row, std::string const& schedule) {
  auto const time = [&](char column, int device) {
    return static_cast<tick>(std::stoll(row.at(column + std::to_string(device))));
  };
  auto const stage = [](tick forward, tick backward) {
    return stage_cost{forward, backward / 2, backward - backward / 2};
  };
  std::vector<stage_cost> each;
  for (int d = 0; d < p; ++d)
    each.push_back(stage(time('f', d) + time('x', d), time('b', d) + time('y', d)));
  for (int d = 0; d < p && schedule != "1f1b"; ++d) {
    tick const both = time('s', d), s = schedule == "vocab-2" ? both * 2 / 3 : both / 3;
    each.push_back(stage(s + time('z', d), both - s));
  }
  return costs(each);
}

struct errors {
  double sum = 0;
  int count = 0;
};

void check_steps(nlohmann::json const& gold, std::string const& data, systems::report& r) {
  std::map<std::string, errors> by_schedule;
  for (systems::csv_row const& row : systems::read_csv(data + "/steps.csv")) {
    std::string const name = schedule_of(row.at("method"));
    schedule const s = catalog::find_any(name)->make(
        {devices{p}, micro_batches{std::stoi(row.at("micro_batches"))}, costs_of(row, name)});
    double const simulated = static_cast<double>(makespan(s)) / 1000,
                 measured = std::stod(row.at("step_ms"));
    double const error = simulated / measured - 1;
    std::printf("%-10s vocabulary %3dk sequence %d: %8.1f ms measured, %8.1f simulated, %+.2f %%\n",
                name.c_str(), std::stoi(row.at("vocabulary")) / 1000, std::stoi(row.at("sequence")),
                measured, simulated, 100 * error);
    r.near(row.at("run") + ", step in ms", simulated, measured, gold.at("largest_error"));
    errors& e = by_schedule[name];
    e.sum += std::abs(error);
    ++e.count;
  }
  for (auto const& [name, e] : by_schedule) {
    std::printf("%-10s %2d steps, %.2f %% away on average\n", name.c_str(), e.count,
                100 * e.sum / e.count);
    r.holds(name + ", mean error", e.sum / e.count <= gold.at("mean_error").at(name).get<double>());
  }
}

// Checks how much longer a step of vocab-1 is with messages than with an all-reduce at each barrier.
void check_barriers(nlohmann::json const& gold, systems::report& r) {
  for (auto const& [name, lanes] :
       {std::pair{"one lane", transfer_lanes::one}, {"a lane a peer", transfer_lanes::one_a_peer}})
    for (int const count : {8, 16, 32}) {
      vocabulary_study::barrier_model const model{count};
      double const messages = simulated_ms(model.with_messages(), model, lanes),
                   sums = simulated_ms(with_all_reduces(model), model, lanes);
      std::printf("%2d devices, %-13s: barriers as messages %8.1f ms, as all-reduces %8.1f, %+.2f %%\n",
                  count, name, messages, sums, 100 * (messages / sums - 1));
      r.near(std::string(name) + ", " + std::to_string(count) + " devices", messages / sums - 1,
             gold.at("barrier").at(name).at(std::to_string(count)), 0, 5e-4);
    }
}

void check_all(nlohmann::json const& gold, std::string const& data, systems::report& r) {
  check_steps(gold, data, r);
  check_barriers(gold, r);
}

}  // namespace

int main(int argc, char** argv) { return systems::run(argc, argv, check_all); }
