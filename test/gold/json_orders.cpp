// Orders and times that other systems' schedulers gave (data/gold/orders.json; each entry names its
// source), against the catalog's schedule of that name.
#include "static_check.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/check.hpp>
#include <ashlar/metrics.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

namespace {

json gold() {
  std::ifstream file(ASHLAR_TEST_DATA "/gold/orders.json");
  REQUIRE(file);
  return json::parse(file);
}

// 2F0, 2B0: stage, kind, micro-batch.
std::string token(pass what) {
  return std::to_string(what.stage) + "FRBIWx"[static_cast<int>(what.kind)]
         + std::to_string(what.micro_batch);
}

std::vector<std::vector<std::string>> orders_of(schedule const& s) {
  std::vector<std::vector<std::string>> orders;
  for (auto const& order : s.order) {
    orders.emplace_back();
    for (timed_pass const& t : order) orders.back().push_back(token(t.what));
  }
  return orders;
}

// The times of `expect` are in passes; ours are `unit` times as long.
void compare_times(schedule const& s, json const& expect, tick unit) {
  CHECK(makespan(s) == unit * expect["makespan"].get<tick>());
  CHECK(bubble_rate(s) == doctest::Approx(expect["bubble_rate"].get<double>()).epsilon(1e-5));
  CHECK(peak_activations(s) == expect["peak_chunk_activations"].get<std::vector<int>>());
  std::map<std::string, tick> grad_ready;
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    CHECK(s.order[d].front().start == unit * expect["device_start"][d].get<tick>());
    CHECK(s.end_of(s.order[d].back()) == unit * expect["device_end"][d].get<tick>());
    for (timed_pass const& t : s.order[d])
      if (gives_weight_gradient(t.what.kind)) {
        int const route = s.route[static_cast<std::size_t>(t.what.micro_batch)];
        grad_ready[std::to_string(t.what.stage) + '/' + std::to_string(route)] = s.end_of(t) / unit;
      }
  }
  CHECK(grad_ready == expect["grad_ready"].get<std::map<std::string, tick>>());
}

TEST_CASE("orders and times of published implementations") {
  json const all = gold();
  CHECK(all.size() >= 8);
  for (json const& g : all) {
    auto const name = g["schedule"].get<std::string>();
    CAPTURE(name);
    CAPTURE(g["case"].get<std::string>());
    catalog::entry const* const entry = catalog::find(name);
    REQUIRE(entry != nullptr);
    catalog::shape const shape{devices{g["p"].get<int>()}, micro_batches{g["m"].get<int>()}};
    schedule const s = entry->make(shape);
    CHECK(check(s).ok());

    CHECK(s.stage_count() == g["stages"].get<int>());
    CHECK(s.route == g["route"].get<std::vector<int>>());
    auto const routes = g["placement"].get<std::vector<std::vector<int>>>();
    CHECK(s.where == placement(shape.p, routes));
    CHECK(orders_of(s) == g["orders"].get<std::vector<std::vector<std::string>>>());

    // A fused backward takes two ticks at least, one for each part: where it takes as long as a forward,
    // everything is counted in half ticks.
    compare_times(retime(s, costs(stage_cost{1, 1, 1})), g["expect"]["f1_b2"], 1);
    compare_times(retime(s, costs(stage_cost{2, 1, 1})), g["expect"]["f1_b1"], 2);
  }
}

}  // namespace
