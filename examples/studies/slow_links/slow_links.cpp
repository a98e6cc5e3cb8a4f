// PipeMorph: steps measured with delays on links, simulated; and orders that hide the delays, searched.
#include "studies/csv.hpp"
#include "studies/report.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/search/search.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

constexpr double ticks_per_ms = 10;

tick ticks_of(double ms) { return static_cast<tick>(std::lround(ms * ticks_per_ms)); }
double ms_of(tick t) { return static_cast<double>(t) / ticks_per_ms; }

struct configuration {
  int p, m;
  std::vector<stage_cost> passes;  // for their ratios: a step without a delay says how long they are
};

// Stages as their simulations have them: the first and the last one have a layer less, and the head.
// For the two larger models only the ranges of all stages are published.
configuration configuration_of(std::string const& model) {
  bool const small = model == "7B";
  configuration c{small ? 4 : 8, small ? 12 : 24, {}};
  stage_cost const inner = model == "30B"   ? stage_cost{100, 120, 60}
                           : model == "60B" ? stage_cost{110, 120, 60}
                                            : stage_cost{90, 100, 60};
  c.passes.assign(static_cast<std::size_t>(c.p), inner);
  if (!small && model != "14B") return c;
  c.passes.front() = {80, 100, 50};
  c.passes.back() = {90, 90, 60};
  return c;
}

// Reads "0-1 3-4": links, by the sender of activations.
std::vector<int> links_of(std::string const& text) {
  std::vector<int> from;
  std::istringstream words(text);
  for (std::string word; words >> word;) from.push_back(std::stoi(word.substr(0, word.find('-'))));
  return from;
}

void delay_both_ways(interconnect& links, int from, tick by) {
  delay_link(links, from, from + 1, by);
  delay_link(links, from + 1, from, by);
}

// Keeps the orders and stretches all passes so that a step without delays takes `fastest` milliseconds.
schedule at_speed_of(schedule const& s, double fastest) {
  double const factor = fastest / ms_of(makespan(s));
  costs cost = s.cost;
  cost.passes.change_each([&](stage_cost& c) {
    c.change_each(
        [&](tick& each) { each = static_cast<tick>(std::lround(static_cast<double>(each) * factor)); });
  });
  return retime(s, cost);
}

// Simulates 1F1B as Megatron runs it: a sender computes nothing until the message is there, so a delay
// acts like a longer pass of the sender: a forward at one end of the link, a backward at the other.
double blocking_step(systems::csv_row const& row) {
  configuration const c = configuration_of(row.at("model"));
  schedule s =
      at_speed_of(catalog::find_any("1f1b")->make({devices{c.p}, micro_batches{c.m}, costs(c.passes)}),
                  std::stod(row.at("fastest_ms")));
  std::vector<stage_cost> each;
  for (int stage = 0; stage < c.p; ++stage) each.push_back(s.cost.passes.of(stage, 0));
  tick const delay = ticks_of(std::stod(row.at("delay_ms")));
  for (int const from : links_of(row.at("slow_links"))) {
    each[static_cast<std::size_t>(from)].forward += delay;
    each[static_cast<std::size_t>(from) + 1].backward_input += delay;
  }
  return ms_of(makespan(retime(s, costs(each))));
}

// Makes zero-bubble schedules with room for 2p activations, for passes of equal length, whose messages
// go by the host and wait for nobody: then any number is on its way, and each takes the delay and the
// time of the copies.
schedule zero_bubble_of(systems::csv_row const& row) {
  configuration const c = configuration_of(row.at("model"));
  schedule const equal =
      catalog::find_any("zb-2p")->make({devices{c.p}, micro_batches{c.m}, costs({10, 10, 10})});
  return at_speed_of(retime(equal, costs(c.passes)), std::stod(row.at("fastest_ms")));
}

double hosted_step(systems::csv_row const& row, double copies_ms) {
  schedule const s = zero_bubble_of(row);
  costs cost = s.cost;
  for (int const from : links_of(row.at("slow_links")))
    delay_both_ways(cost.on.links, from, ticks_of(std::stod(row.at("delay_ms")) + copies_ms));
  return ms_of(makespan(retime(s, cost)));
}

// The time of a message by the host, from a run in which all go there and none is delayed.
double copies_of(systems::csv_row const& row) {
  schedule const s = zero_bubble_of(row);
  for (tick copies = 0;; ++copies) {
    costs cost = s.cost;
    for (int from = 0; from + 1 < s.device_count(); ++from) delay_both_ways(cost.on.links, from, copies);
    if (ms_of(makespan(retime(s, cost))) >= std::stod(row.at("median_ms"))) return ms_of(copies);
  }
}

struct errors {
  std::vector<double> all;

  double mean() const {
    double sum = 0;
    for (double e : all) sum += std::abs(e);
    return sum / static_cast<double>(all.size());
  }
  double largest() const {
    double most = 0;
    for (double e : all) most = std::max(most, std::abs(e));
    return most;
  }
  double share_within(double limit) const {
    auto const count =
        std::count_if(all.begin(), all.end(), [&](double e) { return std::abs(e) <= limit; });
    return static_cast<double>(count) / static_cast<double>(all.size());
  }
};

bool names(nlohmann::json const& list, std::string const& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

void check_steps(nlohmann::json const& gold, std::vector<systems::csv_row> const& rows,
                 systems::report& r) {
  auto const all_by_host = std::find_if(rows.begin(), rows.end(), [](systems::csv_row const& row) {
    return row.at("method") == "ALL-CPU" && row.at("model") == "7B";
  });
  if (all_by_host == rows.end()) throw std::runtime_error("no run of 7B with all messages by the host");
  double const copies = copies_of(*all_by_host);  // messages of 14B are as large
  std::printf("a message by the host: %.1f ms\n", copies);
  errors blocking, hosted;
  for (systems::csv_row const& row : rows) {
    bool const blocks = row.at("method") == "1F1B", by_host = row.at("method") == "ZB-CPU";
    if (!blocks && !by_host) continue;
    double const measured = std::stod(row.at("median_ms")),
                 simulated = blocks ? blocking_step(row) : hosted_step(row, copies);
    // Only one pipeline, with a stage on each device, is known: the steps of several include their sums.
    bool const known =
        names(gold.at(blocks ? "blocking" : "by_the_host").at("models"), row.at("model"))
        && (blocks || std::stoi(row.at("global_batch")) == configuration_of(row.at("model")).m);
    double const error = simulated / measured - 1;
    std::printf("%-7s %s, links %-11s %2s ms later: %6.0f ms measured, %6.0f simulated, %+5.1f %%%s\n",
                row.at("method").c_str(), row.at("model").c_str(), row.at("slow_links").c_str(),
                row.at("delay_ms").c_str(), measured, simulated, 100 * error,
                known ? "" : " (not modelled)");
    if (known) (blocks ? blocking : hosted).all.push_back(error);
  }
  for (auto const& [name, found] : {std::pair{"blocking", &blocking}, {"by_the_host", &hosted}}) {
    std::printf("%s: %zu steps, %.1f %% away on average, %.1f %% at most\n", name, found->all.size(),
                100 * found->mean(), 100 * found->largest());
    auto const& expected = gold.at(name);
    r.holds(std::string(name) + ", mean error",
            found->mean() <= expected.at("mean_error").get<double>());
    r.holds(std::string(name) + ", largest error",
            found->largest() <= expected.at("largest_error").get<double>());
    if (expected.contains("within"))
      r.holds(std::string(name) + ", share within",
              found->share_within(expected.at("within")) >= expected.at("share_within").get<double>());
  }
}

// Adapted schedules hold up to all micro-batches on a device; so may ours. Then they have room for 2p.
void check_orders(std::vector<systems::csv_row> const& steps,
                  std::vector<systems::csv_row> const& passes, systems::report& r) {
  std::map<std::string, std::vector<stage_cost>> times;
  auto const key = [](systems::csv_row const& row) {
    return row.at("experiment") + ", " + row.at("model") + ", links " + row.at("slow_links") + ", "
           + row.at("delay_ms") + " ms";
  };
  for (systems::csv_row const& row : passes)
    times[key(row)].push_back({std::stoi(row.at("forward")), std::stoi(row.at("backward_input")),
                               std::stoi(row.at("backward_weight"))});
  for (systems::csv_row const& row : steps) {
    if (row.at("method") != "ZB-CPU-ReSchedule" || times.count(key(row)) == 0) continue;
    configuration const c = configuration_of(row.at("model"));
    costs cost(times.at(key(row)));
    for (int const from : links_of(row.at("slow_links")))
      delay_both_ways(cost.on.links, from, std::stoi(row.at("delay_ms")));
    auto const problem_within = [&](int limit) {
      return search_problem{.where = linear(devices{c.p}),
                            .m = micro_batches{c.m},
                            .cost = cost,
                            .limit = chunk_activations(limit)};
    };
    search_budget const budget{.passes = 300'000, .aim = objective::makespan};
    search_result const tight = search(problem_within(2 * c.p), budget);
    search_start start(problem_within(c.m));
    start.add(problem_within(c.m), tight.best);
    search_result const roomy = search(problem_within(c.m), start, budget);
    tick const adapted = std::stoi(row.at("adapted_ms"));
    tick const one = makespan(catalog::find_any("1f1b")->make({devices{c.p}, micro_batches{c.m}, cost}));
    std::printf("%-44s 1F1B %5d ms, adapted %4d, found %4d (no less than %d), within 2p %4d (%d)\n",
                key(row).c_str(), static_cast<int>(one), static_cast<int>(adapted),
                static_cast<int>(roomy.reached), static_cast<int>(roomy.least.makespan),
                static_cast<int>(tight.reached), static_cast<int>(tight.least.makespan));
    r.holds(key(row) + ": no worse than adapted", roomy.reached <= adapted);
    times.erase(key(row));
  }
  r.same("pass times without a step", times.size(), std::size_t{0});
}

void check_all(nlohmann::json const& gold, std::string const& data, systems::report& r) {
  std::vector<systems::csv_row> const steps = systems::read_csv(data + "/steps.csv");
  check_steps(gold, steps, r);
  check_orders(steps, systems::read_csv(data + "/passes.csv"), r);
}

}  // namespace

int main(int argc, char** argv) { return systems::run(argc, argv, check_all); }
