// `ashlar predict` and `ashlar plan` refuse formats that hardware lacks, and give intervals where there
// are measurements.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace {

std::string const a_model = " --model llama3-8b ",
                  a_run = a_model + "--sequence 4096 --batch 64 --cluster ";

bool has_interval(std::string const& arguments) {
  return !predicted_run(a_run + arguments)["interval"].is_null();
}

}  // namespace

TEST_CASE("grounds: a format that the devices lack is refused by name") {
  std::vector<refused_line> wrong;
  auto const refuse = [&](char const* kind, char const* formats, char const* others) {
    std::string rest = formats;
    for (std::size_t at = 0; !rest.empty(); rest.erase(0, at == std::string::npos ? at : at + 1)) {
      at = rest.find(' ');
      std::string const format = rest.substr(0, at),
                        says = std::string(kind) + " has no products in it, but in " + others;
      wrong.push_back({"predict" + a_run + "8x" + kind + " --precision " + format,
                       "precision " + format + ": " + says + ";"});
    }
  };
  refuse("V100", "bf16 fp8 mxfp8 nvfp4", "fp16, fp32");
  for (char const* kind : {"A100-40", "A100-80", "MI250X"})
    refuse(kind, "fp8 mxfp8 nvfp4", "bf16, fp16, fp32");
  for (char const* kind : {"H100", "H100-PCIe", "H100-NVL", "H100-96", "GH200", "H200", "H800", "H20",
                           "L40S", "MI300X", "MI325X"})
    refuse(kind, "mxfp8 nvfp4", "bf16, fp16, fp32, fp8");
  refuse("MI355X", "nvfp4", "bf16, fp16, fp32, fp8, mxfp8");
  wrong.push_back({"predict" + a_run + "8xV100", "precision bf16: V100 has no products"});
  wrong.push_back({"plan" + a_run + "8xV100", "precision bf16: V100 has no products"});
  wrong.push_back({"plan --fix precision=nvfp4" + a_run + "8xH100", "precision nvfp4: H100"});
  wrong.push_back(
      {"plan --model 8B --batch 64 --cluster 8xV100+8xA100", "precision bf16: V100 has no products"});
  all_refused(wrong);
  for (char const* each :
       {"8xB200 --precision nvfp4", "8xB300 --precision nvfp4", "4xGB200 --precision nvfp4",
        "4xGB300 --precision nvfp4", "8xMI355X --precision mxfp8", "8xV100 --precision fp16"})
    CHECK(predicted_run(a_run + each)["step_seconds"] > 0);
}

TEST_CASE("grounds: a device's own file says which formats it has") {
  auto const own = [](std::string const& peaks) {
    return scratch_file(
        "own.json",
        R"({"nodes":1,"generation":"hopper","devices_per_node":8,"domain":8,"peak_flops":{"fp32":67e12,"bf16":989e12)"
            + peaks
            + R"(},"memory_bytes":80e9,"memory_bandwidth":3.35e12,"link_inside":450e9,"link_outside":50e9,"units":132,)"
              R"("exponentials":3.9e12,"power_watts":700})");
  };
  std::string const four = R"(,"fp8":2e15,"fp4":4e15)";
  CHECK(run_tool("predict --precision nvfp4" + a_run + own("")).code == 2);
  CHECK(predicted_run("--precision nvfp4" + a_run + own(four))["interval"].is_null());
  CHECK(contains(run_tool("predict" + a_run + own("")).out, "no published run is of "));
}

TEST_CASE("grounds: an interval is of machines and sizes that were measured") {
  for (char const* each : {"8xH100", "8xA100", "8xA100-40", "4xGH200", "2x8xB200",
                           "2048x8xH100 --tensor 8 --pipeline 8 --context 4"}) {
    CAPTURE(each);
    CHECK(has_interval(each));
  }
  for (char const* each : {"8xV100 --precision fp16", "8xMI250X", "8xMI300X", "8xMI325X", "8xMI355X",
                           "8xL40S", "8xH800", "8xH20", "8xH100-PCIe", "8xH100-NVL"}) {
    CAPTURE(each);
    CHECK(!has_interval(each));
  }
  struct {
    char const *arguments, *says;
  } const far[] = {
      {"--sequence 4096 --batch 64 --cluster 8xMI300X",
       "no published run is of MI300X, so nothing shows how far off this is"},
      {"--sequence 1048576 --batch 8 --cluster 8xH100",
       "no published run has more than 262144 tokens in a sequence"},
      {"--sequence 4096 --batch 100000 --cluster 12500x8xH100",
       "no published run has more than 11616 devices"},
      {"--sequence 4096 --batch 256 --cluster 32x8xH100 --pipeline 256", "It does not run"},
      {"--sequence 4096 --batch 8 --cluster 32x8xH100 --context 32",
       "no published run has more than 8 context ranks"},
  };
  for (auto const& each : far) {
    tool_result const r = run_tool("predict" + a_model + each.arguments);
    CAPTURE(each.arguments);
    CHECK(contains(r.out, each.says));
    CHECK(!contains(r.out, "nine of ten"));
  }
}

TEST_CASE("grounds: shards of a layer are no layers") {
  std::string const run = " --model gemma2-9b --cluster 1x8xA100 --sequence 4096 --batch 64 ";
  std::string const file = (scratch() / "shards.json").string(), says = "not consecutive layers";
  REQUIRE(run_tool("emit vocab-1 -p 8 -m 64 --as json -o " + file).code == 0);
  all_refused({{"predict" + run + "--pipeline 8 --schedule vocab-1", says},
               {"predict" + run + "--pipeline 8 --schedule vocab-2", says},
               {"predict" + run + "--pipeline 8 --schedule interlaced", says},
               {"predict" + run + "--pipeline 8 --schedule " + file, says},
               {"plan" + run + "--schedules vocab-2,1f1b",
                "--schedules: vocab-2 is not planned: its stages are " + says}});
}

TEST_CASE("grounds: a schedule that was asked for and has no plan is said") {
  std::string const run =
      a_run + "8xH100 --fix pipeline=8,tensor=1,sharding=optimizer --top 3 --schedules ";
  CHECK(contains(run_tool("plan" + run + "1f1b,hanayo,inference").out, "Not planned: inference: "));
}

TEST_CASE("grounds: what does not run says so first, without an interval") {
  std::string const run = a_run + "8xH100 --pipeline 8 --chunks 5";
  std::string const out = run_tool("predict" + run).out;
  CHECK(out.find("It does not run: 32 layers leave some of the 40 stages without work")
        < out.find(" a step if it ran"));
  CHECK(!contains(out, "nine of ten"));
  auto const said = predicted_run(run);
  CHECK(said["interval"].is_null());
  CHECK(said["peak_interval"].is_null());
  CHECK(said["fits"] == false);
}
