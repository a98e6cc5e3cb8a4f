// Compares orders and times from other systems' schedulers (data/gold/orders, a file a schedule; each
// case names its source) with the catalog's schedule of that name.
#include "gold/order_tokens.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

namespace {

// The number after `key` in a case's description, as 4 in `p2 m4 W2` for m.
int number_in(std::string const& description, std::string const& key, int otherwise) {
  auto const at = (' ' + description).find(' ' + key);
  if (at == std::string::npos) return otherwise;
  std::string const behind = description.substr(at + key.size());
  return behind[0] >= '0' && behind[0] <= '9' ? std::stoi(behind) : otherwise;
}

// The entry and shape that a gold case is about.
schedule made_like(json const& g) {
  auto const name = g["schedule"].get<std::string>(), description = g["case"].get<std::string>();
  catalog::shape s{devices{g["p"].get<int>()}, micro_batches{g["m"].get<int>()}};
  s.v = chunks{g["v"].get<int>()};
  s.w = waves{number_in(description, "W", 1)};
  s.rounds = number_in(description, "depth", 1);
  s.group = number_in(description, "g", 0);
  s.routes = 2 * number_in(description, "f", 1);
  static std::map<std::string, std::string> const renamed{
      {"breadth_first", "breadth-first"},
      {"breadth_first_hybrid", "breadth-first-hybrid"},
      {"chimera_2f", "chimera"},
      {"combined_1f1b", "combined-1f1b"},
      {"depth_first", "depth-first"}};
  std::string entry = renamed.count(name) > 0 ? renamed.at(name) : name;
  if (name == "no_pipeline")
    entry = description.substr(0, description.find('_')) + "-first-accumulation";
  catalog::entry const* const found = catalog::find(entry);
  REQUIRE(found != nullptr);
  schedule made = found->make(s);
  // Their order deals the micro-batches to the rounds in turn, ours numbers them as they run.
  if (entry == "breadth-first-hybrid")
    for (auto& order : made.order)
      for (time_slot& t : order) {
        int const each = s.m.value / s.rounds, k = t.what.micro_batch;
        t.what.micro_batch = k % each * s.rounds + k / each;
      }
  return made;
}

// The times of `expect` are in passes; ours are `unit` times as long.
void compare_times(schedule const& s, json const& expect, tick unit) {
  CHECK(makespan(s) == unit * expect["makespan"].get<tick>());
  // The share of the device that idles longest, which is the busiest where all have as much to do.
  std::vector<tick> const work = busy(s);
  double const idle = 1.0
                      - static_cast<double>(*std::min_element(work.begin(), work.end()))
                            / static_cast<double>(makespan(s));
  CHECK(idle == doctest::Approx(expect["bubble_rate"].get<double>()).epsilon(1e-5));
  CHECK(bubble_rate(s) <= idle);
  CHECK(peak_activations(s) == expect["peak_chunk_activations"].get<std::vector<int>>());
  std::map<std::string, tick> grad_ready;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    CHECK(s.order[d].front().start == unit * expect["device_start"][d].get<tick>());
    CHECK(s.end_of(s.order[d].back(), static_cast<int>(d))
          == unit * expect["device_end"][d].get<tick>());
    for (timed_pass const t : each_pass(s.order[d]))
      if (gives_weight_gradient(t.what.kind)) {
        int const route = s.route[static_cast<std::size_t>(t.what.micro_batch)];
        grad_ready[std::to_string(t.what.stage) + '/' + std::to_string(route)] =
            s.end_of(t, static_cast<int>(d)) / unit;
      }
  }
  CHECK(grad_ready == expect["grad_ready"].get<std::map<std::string, tick>>());
}

TEST_CASE("orders and times of published implementations") {
  int cases = 0;
  for (auto const& file : std::filesystem::directory_iterator(ASHLAR_TEST_DATA "/gold/orders"))
    for (json const& g : json::parse(std::ifstream(file.path()))) {
      ++cases;
      CAPTURE(g["schedule"].get<std::string>());
      CAPTURE(g["case"].get<std::string>());
      schedule const s = made_like(g);
      CHECK(check(s).ok());

      CHECK(s.stage_count() == g["stages"].get<int>());
      CHECK(s.route == g["route"].get<std::vector<int>>());
      auto const routes = g["placement"].get<std::vector<std::vector<int>>>();
      CHECK(s.where == placement(devices{g["p"].get<int>()}, routes));
      CHECK(orders_of(s) == g["orders"].get<std::vector<std::vector<std::string>>>());

      // A fused backward takes two ticks at least, one for each part: where it takes as long as a
      // forward, everything is counted in half ticks.
      for (auto const& [name, expect] : g["expect"].items()) {
        costs cost(stage_cost{1, 1, 1});
        if (name == "f1_b1") cost = costs(stage_cost{2, 1, 1});
        if (name == "f1_i1_w1_fb3") cost.passes.overlapped = 3;
        if (name == "f1_i1_w1_fb2") cost.passes.overlapped = 2;
        compare_times(retime(s, cost), expect, name == "f1_b1" ? 2 : 1);
      }
    }
  CHECK(cases >= 8);
}

}  // namespace
