// The JSON object of a schedule.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/bounds/lower_bound.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/schedule/compose.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace ashlar;

TEST_CASE("1F1B on 4 devices with 8 micro-batches") {
  auto const object = to_json(catalog::find("1f1b")->make({devices{4}, micro_batches{8}}), "1f1b");
  // These are orders as reference implementations run them.
  auto const orders = nlohmann::ordered_json::parse(R"([
    ["0F0","0F1","0F2","0F3","0B0","0F4","0B1","0F5","0B2","0F6","0B3","0F7","0B4","0B5","0B6","0B7"],
    ["1F0","1F1","1F2","1B0","1F3","1B1","1F4","1B2","1F5","1B3","1F6","1B4","1F7","1B5","1B6","1B7"],
    ["2F0","2F1","2B0","2F2","2B1","2F3","2B2","2F4","2B3","2F5","2B4","2F6","2B5","2F7","2B6","2B7"],
    ["3F0","3B0","3F1","3B1","3F2","3B2","3F3","3B3","3F4","3B4","3F5","3B5","3F6","3B6","3F7","3B7"]])");
  CHECK(object["orders"] == orders);
  CHECK(object["schedule"] == "1f1b");
  CHECK(object["devices"] == 4);
  CHECK(object["stages"] == 4);
  CHECK(object["micro_batches"] == 8);
  CHECK(object["placement"] == nlohmann::ordered_json::parse("[[0,1,2,3]]"));
  CHECK(object["route"].size() == 8);
  CHECK(object["makespan"] == 33);
  CHECK(object["span"] == 33);
  CHECK(object["makespan_bound"] == 33);
  CHECK(object["makespan_gap"] == 0.0);
  CHECK(object["span_bound"] == 33);
  CHECK(object["span_gap"] == 0.0);
  CHECK(object["busy"] == nlohmann::ordered_json::parse("[24,24,24,24]"));
  CHECK(object["bubble_rate"] == doctest::Approx(0.272727));
  CHECK(object["bubble_rate_span"] == doctest::Approx(0.272727));
  CHECK(object["peak_activations"] == nlohmann::ordered_json::parse("[4,3,2,1]"));
  CHECK(object["starts"][0][4] == 10);
  CHECK(object["costs"]["transfer"] == 0);
  CHECK(object["costs"]["per_stage"].size() == 4);
}

TEST_CASE("bounds and gaps, of schedules that have them") {
  schedule s = catalog::find("v-half")->make({devices{4}, micro_batches{8}, {{10, 13, 7}, 1}});
  auto const object = to_json(s, "v-half");
  tick const least = object["makespan_bound"], reached = object["makespan"];
  CHECK(least == schedule_bound(s)->makespan);
  CHECK(reached > least);
  CHECK(object["makespan_gap"].get<double>() == gap(reached, least));
  CHECK(object["span_gap"].get<double>() == gap(span(s), schedule_bound(s)->span));
  CHECK(to_json(catalog::find("chimera")->make({devices{4}, micro_batches{8}}), "chimera")
            .contains("makespan_bound"));
  auto const graph = to_json(shapes::fork_join() | repeat(micro_batches{2}), "fork and join");
  CHECK(graph.contains("makespan_bound"));
  CHECK(graph["stage_edges"] == nlohmann::ordered_json::parse("[[0,1],[0,2],[1,3],[2,3]]"));
  CHECK_FALSE(graph.contains("micro_batch_sizes"));
  CHECK_FALSE(object.contains("stage_edges"));
  s.order[2].pop_back();  // no schedule
  CHECK_FALSE(to_json(s, "v-half").contains("span_gap"));
}

TEST_CASE("costs of chunks that differ") {
  catalog::shape shape{.p = devices{2}, .m = micro_batches{2}, .sequence_chunks = 2};
  CHECK_FALSE(to_json(catalog::find("seq1f1b")->make(shape), "")["costs"].contains("sequence_chunks"));
  shape.cost.passes = pass_costs::by_stage_and_sequence_chunk({{1, 2, 3}, {4, 5, 6}}, 2);
  auto const costs = to_json(catalog::find("seq1f1b")->make(shape), "")["costs"];
  CHECK(costs["sequence_chunks"] == 2);
  REQUIRE(costs["per_stage"].size() == 4);
  for (std::size_t stage = 0; stage < 2; ++stage) {
    CHECK(costs["per_stage"][2 * stage]["backward_input"] == 2);
    CHECK(costs["per_stage"][2 * stage + 1]["backward_input"] == 5);
  }
}

TEST_CASE("costs of devices and links that differ") {
  catalog::shape shape{.p = devices{4}, .m = micro_batches{8}};
  auto const costs_of = [&] {
    return to_json(catalog::find("dualpipe")->make(shape), "dualpipe")["costs"];
  };
  CHECK(costs_of().size() == 2);  // what is alike is not said
  shape.cost.on.speeds = {100, 50, 100, 80};
  shape.cost.on.links = {
      .inside = {.latency = 2}, .between = {.latency = 5, .bandwidth = 3}, .node_size = 2};
  shape.cost.message = 7;
  CHECK(costs_of()["speeds"] == nlohmann::ordered_json::parse("[100,50,100,80]"));
  CHECK(costs_of()["transfer"] == 2);
  CHECK(costs_of()["transfer_between_nodes"] == 8);
  CHECK(costs_of()["node_size"] == 2);
}

TEST_CASE("a schedule that starts before 0, from where a makespan is counted, cannot be written") {
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{3}});
  REQUIRE(to_json(s, "").contains("makespan_gap"));
  CHECK_BREAKS(ticks_fit, to_json(shift(s, -1), ""));
  CHECK(to_json(shift(s, 1), "")["makespan"] == makespan(s) + 1);
}

TEST_CASE("any name is written") {
  schedule const s = catalog::find("1f1b")->make({devices{2}, micro_batches{3}});
  CHECK(to_json(s, "a\xFF").dump().find("a\xEF\xBF\xBD") != std::string::npos);
}
