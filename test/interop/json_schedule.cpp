// Schedules and building blocks out of JSON.
#include <ashlar/interop/json_schedule.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"
#include "shapes.hpp"
#include <ashlar/block/check.hpp>
#include <ashlar/catalog/entries.hpp>
#include <ashlar/catalog/round_pipe.hpp>
#include <ashlar/catalog/vocabulary_entries.hpp>
#include <ashlar/interop/json.hpp>
#include <ashlar/schedule/check.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace shapes;

namespace {

json_schedule read(std::string const& text) { return read_json_schedule(text, "mine.json"); }

void refused(std::string const& text, std::string const& why) {
  refused_text([&] { read(text); }, why);
}

// Costs come back stage by stage.
void comes_back(schedule const& s, std::string const& name) {
  auto const text = to_json(s, name).dump();
  json_schedule const again = read(text);
  CHECK(to_json(again.schedule, again.name).dump() == text);
  CHECK(again.schedule.order == s.order);
  CHECK(again.schedule.graph == s.graph);
  CHECK(again.schedule.mode == s.mode);
  CHECK((!again.block && again.scale.is_plain() && again.rounded.empty()));
}

}  // namespace

TEST_CASE("what to_json() writes comes back") {
  for (catalog::entry const& e : catalog::entries) {
    CAPTURE(e.name);
    comes_back(e.make({devices{4}, micro_batches{8}, {{10, 13, 7}, 2}}), e.name);
  }
}

TEST_CASE("so do stages that move") {
  schedule const s = catalog::round_pipe(devices{3}, micro_batches{2}, {{1, 1}, {1, 1, 1}},
                                         costs(stage_cost{2, 3, 1}, 1), 2);
  comes_back(s, "moving");
  json_schedule const again = read(to_json(s, "moving").dump());
  CHECK((again.schedule.where == s.where && s.where.moves()));
  refused(R"({"placement": [0, 1], "backward_placement": [0], "route": [0], "orders": [[], []]})",
          "backward_placement");
  refused(R"({"placement": [0, 1], "backward_placement": [], "route": [0], "orders": [[], []]})",
          "\"backward_placement\" must have the device of a stage");
}

TEST_CASE("so do graphs, chunks that differ, and devices and links that differ") {
  comes_back(fork_join() | repeat(micro_batches{2}), "fork and join");
  for (catalog::entry const& e : catalog::vocabulary_entries)
    comes_back(e.make({devices{3}, micro_batches{4}}), e.name);
  catalog::shape chunks{.p = devices{2}, .m = micro_batches{2}, .sequence_chunks = 2};
  chunks.cost.passes =
      pass_costs::by_stage_and_sequence_chunk({{1, 2, 3}, {4, 5, 6}, {1, 1, 1}, {2, 2, 2}}, 2);
  comes_back(catalog::find("seq1f1b")->make(chunks), "seq1f1b");
  catalog::shape uneven{.p = devices{4}, .m = micro_batches{8}};
  uneven.cost.on.speeds = {100, 50, 100, 80};
  uneven.cost.on.links = {.inside = {.latency = 2}, .between = {.latency = 5}, .node_size = 2};
  comes_back(catalog::find("dualpipe")->make(uneven), "dualpipe");
  uneven.cost.on.links.node_size = std::numeric_limits<int>::max();
  comes_back(catalog::find("dualpipe")->make(uneven), "dualpipe");
}

TEST_CASE("pairs that differ by stage come back") {
  catalog::shape shape{.p = devices{4}, .m = micro_batches{8}};
  std::vector<tick> pairs;
  for (tick i = 0; i < 3 * 4 * 4; ++i) pairs.push_back(2 + i % 5);
  shape.cost.passes.overlapped = pair_costs::by_stage(pairs, 4);
  comes_back(catalog::find("dualpipe")->make(shape), "dualpipe");
  shape.cost.passes.overlapped = pair_costs::by_stage({2, 3, 4}, 1);
  comes_back(catalog::find("dualpipe")->make(shape), "dualpipe");
}

TEST_CASE("pairs come back whose forward takes no time, and starts do not tell them") {
  catalog::shape shape{.p = devices{3}, .m = micro_batches{6}, .cost = costs(stage_cost{0, 2, 1})};
  comes_back(catalog::find("combined-1f1b")->make(shape), "combined-1f1b");
  comes_back(catalog::find("dualpipev")->make(shape), "dualpipev");
  shape.cost.passes.overlapped = 2;
  comes_back(catalog::find("combined-1f1b")->make(shape), "combined-1f1b");

  std::string const orders = R"({"placement": [0], "route": [0, 0], "costs": {"forward": 0},
      "orders": [["0F0","0F1","0B0","0B1"]], "starts": [[0, 0, 0, 2]])";
  CHECK(read(orders + "}").schedule.order[0].size() == 4);
  CHECK(read(orders + R"(, "pairs": [[1]]})").schedule.order[0][1]
        == time_slot{{F, 0, 1}, 0, {B, 0, 0}});
  for (char const* const wrong : {"[]", "[[0]]", "[[3]]", "[[1, 1]]", "[[2]]", "[[-1]]", "[1]"})
    CHECK_THROWS_AS(read(orders + ", \"pairs\": " + wrong + "}"), std::runtime_error);
}

TEST_CASE("orders without starts are squeezed, and starts without a duration tell pairs") {
  std::string const orders =
      R"({"placement": [0], "route": [0, 0], "orders": [["0F0","0F1","0B0","0B1"]])";
  CHECK(read(orders + "}").schedule.order[0][3] == time_slot{{B, 0, 1}, 4});
  json_schedule const pair = read(orders + R"(, "starts": [[0, 1, 1, 3]], "costs": {"overlapped": 2}})");
  CHECK(pair.schedule.order[0]
        == std::vector<time_slot>{{{F, 0, 0}, 0}, {{F, 0, 1}, 1, {B, 0, 0}}, {{B, 0, 1}, 3}});
  CHECK(pair.schedule.cost.passes.overlapped == 2);
  CHECK(pair.schedule.mode == execution_mode::training);
  CHECK(read(R"({"placement": [0], "route": [0], "orders": [["0F0"]]})").schedule.mode
        == execution_mode::inference);
}

TEST_CASE("a building block") {
  json_schedule const all = read(R"({"placement": [0, 1], "interval": 3,
    "cells": {"0F": 0, "1F0": 1, "1B": 2, "0B": 4}})");
  REQUIRE(all.block);
  CHECK(check(*all.block).ok());
  CHECK((all.block->interval == 3 && all.block->cells.size() == 4));
  CHECK((*all.block | repeat(micro_batches{5}) | squeeze()).order == one_f_one_b(2, 5).order);
  CHECK(read(R"({"placement": [0], "interval": 6, "cells": {"0F": -4, "0B": 3}})").block->cells[1].offset
        == -4);
}

TEST_CASE("times may be decimal and have a unit: ticks are so short that all are whole") {
  json_schedule const plain = read(R"({"placement": [0], "interval": 6, "costs": {"forward": 1.5,
    "backward_weight": 0.25}, "cells": {"0F0": 0, "0B0": 1.5}})");
  CHECK(plain.scale == time_scale{.ticks_per_unit = 4});
  CHECK(plain.block->cost.passes == pass_costs(stage_cost{6, 4, 1}));
  CHECK(plain.block->interval == 24);
  json_schedule const in_ms =
      read(R"({"placement": [0], "costs": {"forward": "1500us"}, "interval": "6ms",
    "cells": {"0F0": 0, "0B0": "1.5ms"}})");
  CHECK(in_ms.scale == time_scale{.ticks_per_unit = 1, .unit = "us"});
  CHECK(in_ms.block->interval == 6000);
  auto const again =
      read(to_json(squeeze(*plain.block | repeat(micro_batches{2})), "", plain.scale).dump());
  CHECK((again.scale == plain.scale && again.schedule.cost.passes.of(0).forward == 6));
  json_schedule const counted = read(R"({"placement": [0], "interval": 6, "costs": {"ticks_per_unit": 2,
    "time_unit": "ms"}, "cells": {"0F0": 0, "0B0": 3}})");
  CHECK(counted.scale == time_scale{.ticks_per_unit = 2, .unit = "ms"});
  CHECK(counted.block->interval == 6);
  CHECK(read(R"({"placement": [0], "interval": 6.00000000001, "cells": {"0F0": 0, "0B0": 1}})").rounded
        == "6.00000000001");
}

TEST_CASE("what is no such file is refused, with the place and the key") {
  refused("{\n \"placement\": [0, 1,\n  -1], \"cells\": {}}",
          "'mine.json', line 3, column 3: \"placement\" must be a whole number from 0 to 1023");
  refused("{}", "'mine.json', line 1, column 1: lacks \"placement\"");
  refused("[1]", "'mine.json', line 1, column 1: lacks \"placement\"");
  refused(R"({"placement": [0], "interval": 3, "cells": {"0Q": 1}})",
          "line 1, column 51: has \"0Q\" for a pass, which is written like 2F0");
  refused(R"({"placement": [0], "interval": 3, "cells": {"1F": 1}})",
          "has a cell \"1F\", but 1 stages and 1 micro-batches");
  refused(R"({"placement": [0], "costs": {"forward": "2ms"}, "interval": 3, "cells": {}})",
          "\"interval\" has no unit, but other times are in ms");
  refused(R"({"placement": [0], "costs": {"forward": "1.5ms"}, "interval": "0ms", "cells": {}})",
          "\"interval\" must be from 0.5 ms to ");
  refused(R"({"placement": [0], "interval": 3, "cells": {}, "costs": {"per_stage": []}})",
          "has costs of 0 stages, but 1 stages");
  refused(
      R"({"placement": [0], "interval": 3, "cells": {}, "costs": {"per_stage": [{}], "sequence_chunks": 2}})",
      "has 1 costs, but 1 stages with 2 sequence chunks each");
  refused(R"({"placement": [0], "interval": 3, "cells": {}, "costs": {"speeds": [1, 2]}})",
          "has speeds of 2 devices, but 1 devices");
  std::string const orders = R"({"placement": [0], "route": [0, 0], "orders": [["0F0", "0F1"]], )";
  refused(orders + R"("micro_batches": 3})", "\"micro_batches\" is 3, but there are 2");
  refused(orders + R"("starts": []})", "has starts of 0 devices, but 1 devices");
  refused(orders + R"("starts": [[0]]})", "lacks starts of device 0");
  refused(orders + R"("starts": [[0, -1]]})", "\"starts\" must be a whole number from 0 to ");
  refused(orders + R"("stage_edges": [[0]]})", "\"stage_edges\" must have two stages for each edge");
}
