// Measured costs out of JSON, and as JSON.
#include <ashlar/interop/json_costs.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace ashlar;

namespace {

measured_time taking(double ns) {
  return {.median = ns, .low = ns - 100, .high = ns + 100, .samples = 7};
}

}  // namespace

TEST_CASE("what was measured comes back, in ticks") {
  measured_costs const measured{
      .stages = {{taking(2'000'000), taking(3'000'000.04), taking(1'000'000), measured_time{}},
                 {taking(4'000'000), taking(6'000'000), taking(2'000'000), taking(4'000'000)}},
      .message = 1000,
      .node_size = 2,
      .inside = measured_link{taking(5000), 1e9},
      .between = measured_link{taking(9000), 0},
      .ring = measured_link{taking(7000), 2e9}};
  nlohmann::ordered_json const text = to_json(measured, {{"backend", "host"}});
  CHECK(text["costs"]["measured"]["backend"] == "host");
  CHECK(text["costs"]["stages"][0]["forward"]["lower_quartile"] == 1'999'900);
  CHECK(text["costs"]["stages"][0]["backward_input"]["median"] == 3'000'000);
  CHECK_FALSE(text["costs"]["stages"][0].contains("recompute"));
  json_costs const read = read_json_costs(text.dump());
  CHECK(read.scale == time_scale{.ticks_per_unit = 1000, .unit = "ms"});
  REQUIRE(read.cost.passes.stages() == 2);
  CHECK(read.cost.passes.of(0) == stage_cost{2000, 3000, 1000});
  CHECK(read.cost.passes.of(1) == stage_cost{4000, 6000, 2000, 4000});
  CHECK(read.cost.message == 1000);
  CHECK(read.cost.on.links
        == interconnect{
            .inside = {.latency = 5, .bandwidth = 1000}, .between = {.latency = 9}, .node_size = 2});
  CHECK(read.cost.on.collective == link_speed{.latency = 7, .bandwidth = 2000});
}

TEST_CASE("bandwidths that are no whole number of bytes in a tick are read within a thousandth") {
  auto const link = [](std::string const& bytes_per_second) {
    return read_json_costs(R"({"costs": {"unit": "ns", "stages": [{"forward": 1, "backward_input": 1,
      "backward_weight": 1}], "links": {"inside": {"latency": 0, "bytes_per_second": )"
                           + bytes_per_second + "}}}}")
        .cost.on.links.inside;
  };
  CHECK(link("5e10") == link_speed{.bandwidth = 50});
  CHECK(link("1.4e9") == link_speed{.bandwidth = 14, .period = 10});
  CHECK(link("12.345e9") == link_speed{.bandwidth = 1235, .period = 100});
  CHECK(link("1e3") == link_speed{.bandwidth = 1, .period = 1'000'000});
  CHECK(link("0") == link_speed{});
}

TEST_CASE("a file by hand has numbers, in any unit, and the passes alone") {
  json_costs const read = read_json_costs(R"({"costs": {"unit": "s", "stages": [
    {"forward": 2e-9, "backward_input": {"median": 1e-9}, "backward_weight": 1e-12}]}})");
  CHECK(read.cost.passes == pass_costs(stage_cost{2, 1, 1}));
  CHECK(read.scale == time_scale{.ticks_per_unit = 1, .unit = "ns"});
  CHECK((read.cost.on.links == interconnect{} && read.cost.on.collective == link_speed{}
         && read.cost.message == 0));
  json_costs const alike =
      read_json_costs(R"({"costs": {"unit": "us", "links": {"inside": {"latency": 3}},
    "stages": [{"forward": 1, "backward_input": 1, "backward_weight": 1}]}})");
  CHECK(alike.cost.on.links.inside == link_speed{.latency = 3000});
  CHECK(alike.cost.on.links.between == alike.cost.on.links.inside);
}

TEST_CASE("passes that consist of parts") {
  std::string const layer = R"("parts": {"forward": [{"compute": 4}, {"exchange": 3}],
    "backward": [{"exchange": 3}, {"compute": {"median": 4}}, {"compute": 2, "of": "weights"}]})";
  auto const read = [](std::string const& stages, std::string const& more = "") {
    return read_json_costs(R"({"costs": {"unit": "us", "stages": [)" + stages + "]" + more + "}}");
  };
  stage_parts const own{.forward = {{part_resource::compute, 4000}, {part_resource::exchange, 3000}},
                        .backward = {{part_resource::exchange, 3000},
                                     {part_resource::compute, 4000},
                                     {part_resource::compute, 2000, true}}};
  json_costs const one = read("{" + layer + "}");
  CHECK(one.scale == time_scale{.ticks_per_unit = 1000, .unit = "us"});
  CHECK(one.parts == part_costs{.stages = {own}});
  CHECK(one.cost.passes == costs_of(one.parts));
  // These have several layers; stages whose passes alone are known; parts that alternate.
  json_costs const two =
      read("{\"layers\": 3, " + layer + "}, "
               R"({"forward": 5, "backward_input": 6, "backward_weight": 7, "recompute": 1})",
           R"(, "pairs": "in turn, weights delayed")");
  CHECK(two.parts.how == braiding::in_turn_delayed);
  CHECK(two.parts.stages[0] == repeated(own, 3));
  CHECK(two.parts.stages[1].backward
        == std::vector<pass_part>{{.duration = 6000}, {.duration = 7000, .of_weights = true}});
  CHECK(two.cost.passes.of(1) == stage_cost{5000, 6000, 7000, 1000});
  CHECK(two.cost.passes.overlapped == costs_of(two.parts).overlapped);
  CHECK(read("{" + layer + "}", R"(, "pairs": "in turn")").parts.how == braiding::in_turn);
  json_costs const plain = read(R"({"forward": 5, "backward_input": 6, "backward_weight": 7})");
  CHECK((plain.parts == part_costs{} && !plain.cost.passes.overlapped.are_given()));
  for (auto const& [stage, why] :
       {std::pair<std::string, std::string>{R"({"parts": {"forward": [], "backward": []}})",
                                            "must have a part"},
        {R"({"parts": {"forward": [{}]}})", "\"compute\" or of \"exchange\""},
        {R"({"parts": {"forward": [{"compute": 1, "exchange": 1}]}})", "\"compute\" or of \"exchange\""},
        {R"({"parts": {"forward": [{"compute": 1, "of": "weights"}]}})", "in a backward"},
        {R"({"parts": {"forward": [{"compute": -1}]}})", "compute"},
        {R"({"parts": {"forward": [{"compute": 1}]}})", "backward"},
        {"{\"layers\": 1000, " + layer + "}", "layers"}})
    refused_text([&, text = stage] { read(text); }, why);
  refused_text([&] { read("{" + layer + "}", R"(, "pairs": "worst")"); }, "in turn");
}

TEST_CASE("costs that are none are refused, with the place and the key") {
  auto const refused = [](std::string const& costs, std::string const& why) {
    refused_text([&] { read_json_costs("{\"costs\": " + costs + "}", "mine.json"); }, why);
  };
  std::string const stage = R"({"forward": 1, "backward_input": 1, "backward_weight": 1})";
  refused("{}", "'mine.json', line 1, column 11: lacks \"unit\"");
  refused(R"({"unit": "h"})", "line 1, column 20: \"unit\" must be ns, us, ms or s");
  refused(R"({"unit": "s"})", "lacks \"stages\"");
  refused(R"({"unit": "s", "stages": []})", "\"stages\" must have a stage");
  refused(R"({"unit": "s", "stages": [{"forward": 1}]})", "lacks \"backward_input\"");
  refused(R"({"unit": "s", "stages": [{"forward": -1}]})",
          "\"forward\" must be a number from 0 to 1000000");
  refused(R"({"unit": "s", "message_bytes": -1, "stages": [)" + stage + "]}",
          "\"message_bytes\" must be a whole number from 0 to 4398046511104");
  refused(R"({"unit": "s", "links": {}, "stages": [)" + stage + "]}", "lacks \"inside\"");
  refused_text([] { read_json_costs("[]"); }, "line 1, column 1: lacks \"costs\"");
}
