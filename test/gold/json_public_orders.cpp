// Compares orders that the public code of other systems generated in November 2026
// (data/gold/public_orders.json; each case names repository and revision) with the catalog's.
#include "gold/order_tokens.hpp"
#include <ashlar/catalog/searched_entries.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using namespace ashlar;
using nlohmann::json;

namespace {

catalog::shape shape_of(json const& g) {
  catalog::shape s{.p = devices{g["p"].get<int>()}, .m = micro_batches{g["m"].get<int>()}};
  s.v = chunks{g["v"].get<int>()};
  s.group = g.value("g", 0);
  s.sequence_chunks = g.value("q", s.sequence_chunks);
  return s;
}

std::string joined(std::vector<std::string> const& tokens) {
  std::string all;
  for (std::string const& token : tokens) all += (all.empty() ? "" : " ") + token;
  return all;
}

// The same passes on the same devices, in the order of the file. Without pairs.
schedule in_order_of(schedule s, json const& orders) {
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    std::map<std::string, time_slot> slots;
    for (time_slot const& t : s.order[d]) slots[token(t.what)] = t;
    std::string const line = orders[d].get<std::string>() + ' ';
    s.order[d].clear();
    for (std::size_t begin = 0, end = 0; begin < line.size(); begin = end + 1) {
      end = line.find(' ', begin);
      s.order[d].push_back(slots.at(line.substr(begin, end - begin)));
    }
  }
  return squeeze(s);
}

TEST_CASE("orders that the code of other systems generates") {
  std::map<std::string, int> same;
  int no_longer = 0;
  for (json const& g : json::parse(std::ifstream(ASHLAR_TEST_DATA "/gold/public_orders.json"))) {
    auto const name = g["schedule"].get<std::string>(), source = g["source"].get<std::string>();
    catalog::shape const shape = shape_of(g);
    CAPTURE(source);
    CAPTURE(name);
    CAPTURE(shape.p.value);
    CAPTURE(shape.m.value);
    catalog::entry const* const found = catalog::find_any(name);
    REQUIRE(found != nullptr);
    schedule const s = found->make(shape);
    std::vector<std::string> ours;
    for (auto const& tokens : orders_of(s)) ours.push_back(joined(tokens));
    if (ours == g["orders"].get<std::vector<std::string>>()) {
      ++same[source.substr(0, source.find(' '))];
      continue;
    }
    // Where groups do not divide the micro-batches, the catalog has another order if that is shorter.
    CHECK((name == "grouped-interleaved" && shape.m.value % shape.group != 0));
    schedule const theirs = in_order_of(s, g["orders"]);
    CHECK(makespan(s) < makespan(theirs));
    CHECK(peak_of_all(s) <= peak_of_all(theirs));
    ++no_longer;
  }
  MESSAGE(no_longer << " are shorter");
  for (char const* const source : {"AMD-AGI/Primus", "Ascend/MindSpeed", "NVIDIA/Megatron-LM",
                                   "deepseek-ai/DualPipe", "sail-sg/zero-bubble", "torch"})
    CHECK(same[source] >= 4);
}

}  // namespace
