// `ashlar plan` from end to end.
#include "tool/planning.hpp"
#include "tool/refusals.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace {

std::string const llama_config =
    R"({"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "tie_word_embeddings": false, "vocab_size": 128256})";

}  // namespace

TEST_CASE("plan: figures that a file gives count, and the others are of the kind that it names") {
  std::string const asked = "--model 8B --sequence 4096 --batch 64 --top 3 --cluster ";
  auto const like = [&](nlohmann::json figures) {
    figures.update({{"like", "H100"}, {"nodes", 2}, {"devices_per_node", 8}});
    return planned(asked + scratch_file("like.json", figures.dump()))["plans"];
  };
  auto const named = planned(asked + "2x8xH100")["plans"], alike = like(nlohmann::json::object());
  for (std::size_t i = 0; i < 3; ++i) CHECK(alike[i]["seconds"] == named[i]["seconds"]);
  CHECK(like({{"flops", 300e12}})[0]["seconds"] > named[0]["seconds"]);
  CHECK(like({{"products", 3}})[0]["seconds"] > named[0]["seconds"]);
  CHECK(like({{"memory_bytes", 40e9}})[0]["bytes"].get<double>() < 40e9);
  CHECK(like({{"network_bytes_per_s", 1e9}})[0]["seconds"] > named[0]["seconds"]);
  auto const bare = planned(asked + figures("H100", 2, 8))["plans"][0];
  CHECK(bare["seconds"].get<double>()
        == doctest::Approx(named[0]["seconds"].get<double>()).epsilon(0.1));
}

TEST_CASE("plan: a config of Hugging Face, and the first plan's schedule as a file that checks") {
  std::string const csv = (scratch() / "plan.csv").string(), json = (scratch() / "plan.json").string();
  std::string const asked = "plan --model " + scratch_file("config.json", llama_config)
                            + " --sequence 4096 --cluster 2x8xA100 --batch 32 --schedules 1f1b --fix "
                              "pipeline=2 --top 1 --emit ";
  tool_result const r = run_tool(asked + csv);
  REQUIRE(r.code == 0);
  CHECK(run_tool("check " + csv).code == 0);
  REQUIRE(run_tool(asked + json).code == 0);
  CHECK(run_tool("check " + json).code == 0);
}

TEST_CASE("plan: the first plan's program has what its data ranks share") {
  std::string const csv = (scratch() / "program.csv").string();
  tool_result const r = run_tool(
      "plan --model 8B --sequence 4096 --cluster 4x8xH100 --batch 32 --top 1 --fix "
      "pipeline=4,sharding=optimizer --schedules zb-h1 --as json --emit-program "
      + csv);
  REQUIRE(r.code == 0);
  auto const plan = nlohmann::json::parse(r.out)["plans"][0];
  std::string const text = content(csv);
  CHECK(std::count(text.begin(), text.end(), '\n') == plan["pipeline"].get<int>());
  REQUIRE(plan["data"].get<int>() > 1);
  for (char const* token : {"SEND_F", "RECV_B", "REDUCE_GRAD"})
    CHECK_MESSAGE(contains(text, token), token);
  CHECK(run_tool("check " + csv).code == 0);
}

TEST_CASE("plan: later pieces of sequences attend to more") {
  std::string const json = (scratch() / "later.json").string();
  tool_result const r = run_tool(
      "plan --model 8B --sequence 4096 --cluster 4x8xH100 --batch 32 --top 1 --fix pipeline=4 "
      "--schedules seq1f1b --emit "
      + json);
  REQUIRE(r.code == 0);
  auto const cost = nlohmann::json::parse(content(json))["costs"];
  int const q = cost["sequence_chunks"];
  REQUIRE(q > 1);
  auto const time = [&](int piece, char const* pass) {
    return cost["per_stage"][static_cast<std::size_t>(piece)][pass].get<double>();
  };
  CHECK(time(1, "forward") > time(0, "forward"));
  CHECK(time(1, "backward_input") > time(0, "backward_input"));
}

TEST_CASE("plan: a model of its own keys, and what does not fit") {
  std::string const gpt =
      scratch_file("gpt.json", R"({"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 50257,
      "sequence": 1024, "tied": true, "precision": "fp16"})");
  auto const found = planned("--model " + gpt + " --cluster 2xA100 --batch 8");
  CHECK(found["parameters"] == 12 * 12 * 768.0 * 768 + 768.0 * 50257);
  CHECK(found["plans"][0]["precision"] == "fp16");
  tool_result const r = run_tool("plan --model 175B --cluster 8xV100 --batch 8 --fix precision=fp16");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "None fits; the smallest:"));
}

TEST_CASE("plan: a node alone, and any kind with a data sheet, in any case") {
  std::string const asked = "plan --model 8B --sequence 4096 --batch 32 --top 1 --as json --cluster ";
  CHECK(nlohmann::json::parse(run_tool(asked + "8xh100").out)["plans"]
        == nlohmann::json::parse(run_tool(asked + "1x8xH100").out)["plans"]);
  tool_result const r = run_tool(asked + "8xb200");
  REQUIRE(r.code == 0);
  CHECK(nlohmann::json::parse(r.out)["plans"][0]["seconds"].get<double>() > 0);
}

TEST_CASE("plan: what a training costs, as text, as a picture and as a page") {
  std::string const asked = "plan --model 8B --sequence 4096 --cluster 2x8xH100 --batch 32 --top 2 ";
  tool_result const text = run_tool(asked + "--objective cost --tokens 100");
  REQUIRE(text.code == 0);
  CHECK(contains(text.out, "device hours"));
  tool_result const picture = run_tool(asked + "--objective days --as svg");
  CHECK(picture.code == 0);
  CHECK(contains(picture.out, "training time"));
  tool_result const page = run_tool(asked + "--as html");
  CHECK(page.code == 0);
  for (char const* part : {"<!DOCTYPE html>", "<svg"}) CHECK_MESSAGE(contains(page.out, part), part);
}

TEST_CASE("plan: a search finds no longer step") {
  std::string const asked =
      "--model 8B --sequence 4096 --cluster 4x8xA100 --batch 32 --schedules 1f1b --top 1 --fix "
      "pipeline=4 ";
  auto const found = planned(asked + "--search 1")["plans"][0], kept = planned(asked)["plans"][0];
  CHECK(found["seconds"].get<double>() <= kept["seconds"].get<double>());
  CHECK(found["bytes"].get<double>() <= 85899345920.0);
  CHECK(!kept.contains("seconds_in_catalog_order"));
  if (found.contains("seconds_in_catalog_order"))
    CHECK(found["seconds_in_catalog_order"] == kept["seconds"]);
}

TEST_CASE("plan: what it cannot read or do") {
  std::string const cluster = " --cluster 8xA100 --batch 8";
  std::string const listed = R"({"forward_ms": 1, "backward_ms": 2, "parameters": 9, "kept_bytes": 9,
       "output_bytes": 9})";
  all_refused(
      {{"plan --model /no/such.json" + cluster, "such.json"},
       {"plan --model " + scratch_file("short.json", R"({"layers": 12, "sequence": 9})") + cluster,
        "lacks \"hidden\""},
       {"plan --model "
            + scratch_file("slip.json", R"({"layers": 1, "hidden": 8, "heads": 2, "vocabulary": 9,
      "sequence": 4, "hiden": 8})")
            + cluster,
        "\"hiden\""},
       {"plan --model "
            + scratch_file("eight.json", R"({"layers": 1, "hidden": 8, "heads": 2, "vocabulary": 9,
      "sequence": 4, "precision": "fp8"})")
            + cluster,
        "must give bf16, fp16 or fp32 for \"precision\", not \"fp8\""},
       {"plan --model "
            + scratch_file("lists.json", R"({"sequence": 8, "measured": [{"layers": [)" + listed
                                             + R"(]}, {"tensor": 1, "layers": [)" + listed + "]}]}")
            + cluster,
        "tensor ranks of its own"},
       {"plan --model 8B --objective beauty" + cluster, "--objective"},
       {"plan --model 8B --cluster 1x8xH1 --batch 8", "no machine 'H1' is known"},
       {"plan --model 8B --cluster " + figures("H100", 0, 8) + " --batch 8", "\"nodes\" must be"},
       {"plan --model 8B --cluster 0x8xH100 --batch 8", "--cluster: nodes"},
       {"plan --model 8B --cluster 8xH100 --batch 0", "--batch must be from 1"}});
}
