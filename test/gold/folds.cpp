// Hanayo with one unit of micro-batches is a folded bidirectional schedule: one wave Chimera's, two
// waves BitPipe's. Compares its published orders (data/gold/folded) with the folds.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/check/check.hpp>
#include <ashlar/schedule/fold.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

TEST_CASE("Hanayo is folded Chimera and folded BitPipe") {
  int cases = 0;
  for (json const& g : json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/folded/hanayo.json"))) {
    ++cases;
    CAPTURE(g["case"].get<std::string>());
    int const p = g["p"].get<int>(), v = g["v"].get<int>();
    schedule const s = catalog::find(v == 2 ? "chimera" : "bitpipe")
                           ->make({devices{2 * p}, micro_batches{2 * g["m"].get<int>()}})
                       | fold_in_half();
    CHECK(check(s).ok());
    CHECK(s.where == wave(devices{p}, waves{v / 2}));
    std::vector<std::vector<std::string>> orders;
    for (auto const& order : s.order) {
      orders.emplace_back();
      for (timed_pass const t : each_pass(order))
        orders.back().push_back(std::to_string(t.what.stage)
                                + (t.what.kind == pass_kind::forward ? 'F' : 'B')
                                + std::to_string(t.what.micro_batch));
    }
    CHECK(orders == g["orders"].get<std::vector<std::vector<std::string>>>());
    json const& expect = g["expect"]["f1_b2"];
    CHECK(makespan(s) == expect["makespan"].get<tick>());
    CHECK(peak_activations(s) == expect["peak_chunk_activations"].get<std::vector<int>>());
  }
  CHECK(cases == 4);
}
