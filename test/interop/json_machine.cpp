// Data sheets of machines out of JSON.
#include <ashlar/cost/cluster/json_machine.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"
#include <ashlar/interop/near_names.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace ashlar;

namespace {

std::string const figures = R"("generation": "ampere", "devices_per_node": 4, "domain": 4,
  "peak_flops": {"fp32": 19.5e12, "bf16": {"value": 312e12, "source": "a data sheet"}}, "memory_bytes": 80e9,
  "memory_bandwidth": 2e12, "link_inside": 300e9, "link_outside": 25e9, "units": 108, "exponentials": 2e12,
  "power_watts": 400)";

}  // namespace

TEST_CASE("a data sheet has figures, with a source or without") {
  json_machine const read =
      read_json_machine("{\"name\": \"A100\", \"names\": [\"a100-80g\"], " + figures + "}");
  CHECK((read.name == "A100" && read.names == std::vector<std::string>{"a100-80g"}));
  CHECK(read.machine
        == cost::machine{.built = cost::generation::ampere,
                         .peak = {.fp32 = 19.5e12, .bf16 = 312e12},
                         .memory_bytes = 80e9,
                         .memory_bandwidth = 2e12,
                         .inside = 300e9,
                         .outside = 25e9,
                         .domain = 4,
                         .per_node = 4,
                         .units = 108,
                         .exponentials = 2e12,
                         .power = 400});
  json_cluster const cluster = read_json_cluster("{\"nodes\": 3, " + figures + "}");
  CHECK((cluster.nodes == 3 && cluster.sheet.name.empty() && cluster.sheet.machine == read.machine));
}

TEST_CASE("a data sheet may say what a device's host takes, all of it or nothing") {
  std::string const link = R"(, "host_link": {"value": 55e9, "source": "measured"})";
  json_machine const read = read_json_machine(
      "{" + figures + link + R"(, "host_memory_bytes": 250e9, "host_memory_bandwidth": 76.8e9})");
  CHECK(read.machine.host
        == cost::host_side{.link = 55e9, .memory_bytes = 250e9, .memory_bandwidth = 76.8e9});
  CHECK_FALSE(read_json_machine("{" + figures + "}").machine.host.is_known());
  refused_text([&] { read_json_machine("{" + figures + link + "}", "mine.json"); },
               "lacks \"host_memory_bytes\"");
}

TEST_CASE("a cluster that is written is read as it was") {
  for (int built = 0; built <= static_cast<int>(cost::generation::cdna4); ++built) {
    json_cluster one{.sheet = {.name = "mine"}, .nodes = 7};
    one.sheet.machine = {.built = static_cast<cost::generation>(built),
                         .peak = {.fp32 = 1e12, .tf32 = 2e12, .fp16 = 3e12, .bf16 = 4e12, .fp8 = 5e12},
                         .memory_bytes = 6e9,
                         .memory_bandwidth = 7e11,
                         .inside = 8e10,
                         .outside = 9e9,
                         .domain = 10,
                         .per_node = 11,
                         .units = 12,
                         .exponentials = 13e11,
                         .power = 140};
    one.sheet.machine.pair = 15e9;
    one.sheet.machine.peak.fp4 = 16e12;
    one.sheet.machine.host = {.link = 17e9, .memory_bytes = 18e9, .memory_bandwidth = 19e9};
    json_cluster const again = read_json_cluster(json_of(one).dump());
    CHECK(again.sheet.machine == one.sheet.machine);
    CHECK((again.sheet.name == "mine" && again.nodes == 7));
  }
}

TEST_CASE("what is no data sheet is refused, with the place and the key") {
  auto const refused = [](std::string const& text, std::string const& why) {
    refused_text([&] { read_json_machine(text, "mine.json"); }, "'mine.json', line 1, column " + why);
  };
  refused("[]", "1: a data sheet must be a JSON object");
  refused("{}", "1: lacks \"generation\"");
  refused("{\"nodes\": 3, " + figures + "}", "11: \"nodes\" means nothing here; did you mean 'names'?");
  refused(R"({"generation": "kepler"})",
          "16: \"generation\" must be one of: volta ampere ada hopper blackwell");
  refused(R"({"generation": "ada", "peak_flops": {"fp32": 1}})",
          "37: \"peak_flops\" must have fp32, and fp16 or bf16");
  refused(R"({"generation": "ada", "peak_flops": {"fp32": 0}})",
          "46: \"fp32\" must be a number from 0.001 to 1e+21");
  refused_text([] { read_json_cluster("{" + figures + "}"); }, "line 1, column 1: lacks \"nodes\"");
}

TEST_CASE("a wrong name may be near a known one") {
  CHECK(edits("kitten", "sitting") == 3);
  CHECK(edits("", "abc") == 3);
  CHECK(nearest_of("h10O", {"A100", "H100"}) == "H100");
  CHECK(nearest_of("V1", {"A100", "H100"}).empty());
  CHECK(did_you_mean("a10", {"A100"}) == "; did you mean 'A100'?");
  CHECK(did_you_mean("something", {"A100"}).empty());
}
