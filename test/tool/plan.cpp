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
std::string const two_nodes =
    R"({"nodes": 2, "devices_per_node": 8, "flops": 989e12, "node_bytes_per_s": 450e9,
    "network_bytes_per_s": 50e9, "memory_bytes": 80e9})";

}  // namespace

TEST_CASE("plan: a file says the same as a name") {
  auto const named = planned("--model 8B --cluster " + figures("H100", 2, 8) + " --batch 64 --top 3");
  auto const read = planned("--model " + scratch_file("config.json", llama_config) + " --cluster "
                            + scratch_file("nodes.json", two_nodes) + " --batch 64 --top 3");
  CHECK(named["parameters"] == 32 * 218103808.0 + 2 * 4096 * 128256.0);
  CHECK(read["parameters"] == named["parameters"]);
  REQUIRE(named["plans"].size() == 3);
  double last = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    auto const& plan = named["plans"][i];
    CHECK(plan["tensor"].get<int>() * plan["data"].get<int>() * plan["pipeline"].get<int>() == 16);
    CHECK(plan["micro_batch"].get<int>() * plan["micro_batches"].get<int>() * plan["data"].get<int>()
          == 64);
    CHECK(plan["bytes"].get<double>() <= named["memory_budget"].get<double>());
    CHECK(plan["seconds"] >= plan["bound"]);
    CHECK(plan["seconds"].get<double>() >= last);
    CHECK(plan["utilisation"].get<double>() > 0);
    CHECK(plan["utilisation"].get<double>() < 1);
    last = plan["seconds"];
    CHECK(read["plans"][i] == plan);
  }
  // Every rejected plan says what its device would hold.
  for (auto const& plan : named["rejected"]) {
    CHECK(plan["bytes"].get<double>() > named["memory_budget"].get<double>());
    double sum = 0;
    for (char const* what : {"weights_and_logits", "gradients", "optimizer", "activations"})
      sum += plan["holds"][what].get<double>();
    CHECK(sum == plan["bytes"].get<double>());
  }
}

// Ticks and bytes that overflow would make a step shorter than its bound.
TEST_CASE("plan: times and sizes beyond their range are refused") {
  std::string const slow = scratch_file("slow.json", R"({"nodes": 2, "devices_per_node": 8, "flops": 312,
    "node_bytes_per_s": 450e9, "network_bytes_per_s": 50e9, "memory_bytes": 80e9})");
  std::string const huge = scratch_file("huge.json", R"({"layers": 2, "hidden": 1e12, "heads": 1,
    "vocabulary": 1e12, "sequence": 128})");
  std::string const long_layers =
      scratch_file("long.json", R"({"sequence": 128, "measured": [{"tensor": 1,
    "layers": [{"forward_ms": 1e18, "backward_ms": 1, "parameters": 1, "kept_bytes": 1,
                "output_bytes": 1, "count": 4}]}]})");
  all_refused(
      {{"plan --model 8B --batch 64 --cluster " + slow, "times must stay within the range of ticks"},
       {"plan --cluster " + figures("H100", 2, 8) + " --batch 64 --model " + huge,
        "beyond the range of bytes"},
       {"plan --cluster " + figures("H100", 2, 8) + " --batch 64 --model " + long_layers,
        "times must stay within the range of ticks"}});
}

TEST_CASE("plan: reasons as text, and the first plan's schedule as a file that checks") {
  std::string const csv = (scratch() / "plan.csv").string();
  tool_result const r = run_tool("plan --model 8B --sequence 4096 --cluster " + figures("A100", 2, 8)
                                 + " --batch 32 --explain --emit " + csv);
  REQUIRE(r.code == 0);
  for (char const* part :
       {"Why (", "tensor 8:", "with 10 % more memory", "activations", "Terms of the first plan",
        "reduction ms", "--tensor-model-parallel-size", "head       2 tokens", "logits     6 bytes",
        "gathered for each pass", "bf16 at 312 TFLOP/s"})
    CHECK_MESSAGE(contains(r.out, part), part);
  CHECK(run_tool("check " + csv).code == 0);
}

TEST_CASE("plan: what PyTorch cannot run is said, and JSON has it all the same") {
  std::string const asked = "plan --model 8B --sequence 4096 --cluster " + figures("H100", 4, 8)
                            + " --batch 32 --top 2 --search 0 --schedules ";
  std::string const csv = (scratch() / "pieces.csv").string(),
                    json = (scratch() / "pieces.json").string();
  tool_result const pieces = run_tool(asked + "seq1f1b --emit " + json);
  REQUIRE(pieces.code == 0);
  REQUIRE(contains(pieces.out, "seq1f1b /"));
  CHECK(contains(pieces.out, "Megatron-LM cannot run plan 1: it"));
  CHECK(contains(pieces.out, "PyTorch cannot run plan 1: its sequences come in chunks"));
  CHECK(run_tool("check " + json).code == 0);
  CHECK(contains(run_tool(asked + "seq1f1b --emit " + csv).err, "PyTorch cannot run seq1f1b"));
  tool_result const plain = run_tool(asked + "1f1b --emit " + csv);
  CHECK(contains(plain.out, "PyTorch can run plan 1."));
  CHECK(plain.err.empty());
}

TEST_CASE("plan: later pieces of sequences attend to more") {
  std::string const json = (scratch() / "later.json").string();
  tool_result const r = run_tool(
      "plan --model 8B --sequence 4096 --cluster " + figures("H100", 4, 8) + " --batch 32 --top 1 --search 0 --schedules "
      "seq1f1b --explain --emit "
      + json);
  REQUIRE(r.code == 0);
  auto const cost = nlohmann::json::parse(content(json))["costs"];
  int const q = cost["sequence_chunks"];
  CHECK(contains(r.out, "pieces     of " + std::to_string(q) + ", the first takes 1 / "));
  auto const time = [&](int piece, char const* pass) {
    return cost["per_stage"][static_cast<std::size_t>(piece)][pass].get<double>();
  };
  REQUIRE(q > 1);
  double const more = time(1, "forward") - time(0, "forward");
  CHECK(more > 0);
  for (int piece = 1; piece < q; ++piece) {
    CHECK(time(piece, "forward") - time(piece - 1, "forward") == doctest::Approx(more).epsilon(1e-3));
    CHECK(time(piece, "backward_input") - time(piece - 1, "backward_input")
          == doctest::Approx(2 * more).epsilon(1e-3));
    CHECK(time(piece, "backward_weight") == time(0, "backward_weight"));
  }
}

TEST_CASE("plan: the first plan's program has what its data ranks share") {
  std::string const asked = "plan --model 8B --sequence 4096 --cluster " + figures("H100", 4, 8)
                            + " --batch 32 --top 1 --search 0 ";
  std::string const csv = (scratch() / "program.csv").string();
  tool_result const r = run_tool(asked + "--as json --schedules zb-h1 --emit-program " + csv);
  REQUIRE(r.code == 0);
  auto const plan = nlohmann::json::parse(r.out)["plans"][0];
  std::string const text = content(csv);
  CHECK(std::count(text.begin(), text.end(), '\n') == plan["pipeline"].get<int>());
  REQUIRE(plan["pipeline"].get<int>() > 1);
  REQUIRE(plan["data"].get<int>() > 1);
  REQUIRE(plan["sharding"] != "none");
  for (char const* token : {"SEND_F", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"})
    CHECK_MESSAGE(contains(text, token), token);
  CHECK(run_tool("check " + csv).code == 0);

  tool_result const pieces = run_tool(asked + "--schedules seq1f1b --emit-program " + csv);
  CHECK(pieces.code == 2);
  CHECK(contains(pieces.out, "Why ("));
  CHECK(contains(pieces.err, "PyTorch cannot run seq1f1b"));
  CHECK(content(csv) == text);
}

TEST_CASE("plan: precision, kept scores and shared parameters") {
  auto const small = [](char const* precision) {
    return "--model "
           + scratch_file(std::string(precision) + ".json",
                          R"({"layers": 24, "hidden": 2048, "heads": 16, "vocabulary": 50257,
      "sequence": 2048, "precision": ")"
                              + std::string(precision) + "\"}")
           + " --cluster " + figures("A100", 1, 8) + " --batch 32 --search 0 --top 500 ";
  };
  auto const narrow = planned(small("fp16")), wide = planned(small("fp32"));
  CHECK(wide["plans"][0]["seconds"].get<double>() > 8 * narrow["plans"][0]["seconds"].get<double>());
  CHECK(contains(narrow["plans"].dump(), "--fp16"));
  CHECK(!contains(wide["plans"].dump(), "--bf16"));
  for (char const* level : {"none", "optimizer", "gradients", "full"})
    CHECK_MESSAGE(contains(narrow["plans"].dump(), "\"sharding\":\"" + std::string(level) + "\""),
                  level);
  // Kept scores may be run again alone.
  CHECK(!contains(narrow.dump(), "\"recomputation\":\"attention\""));
  CHECK(
      contains(planned(small("fp16") + "--attention scores").dump(), "\"recomputation\":\"attention\""));
  tool_result const eight = run_tool("plan " + small("fp8"));
  CHECK(eight.code == 2);
  CHECK(contains(eight.err, "must give bf16, fp16 or fp32 for \"precision\", not \"fp8\""));
}

TEST_CASE("plan: a model of its own keys, and what does not fit") {
  std::string const gpt =
      scratch_file("gpt.json", R"({"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 50257,
      "sequence": 1024, "tied": true})");
  CHECK(planned("--model " + gpt + " --cluster " + figures("A100", 1, 2) + " --batch 8")["parameters"]
        == 12 * 12 * 768.0 * 768 + 768.0 * 50257);
  tool_result const r = run_tool("plan --model 175B --cluster " + figures("H100", 1, 8) + " --batch 8");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "plans do not fit in 67.1 GiB"));
  CHECK(contains(r.out, "device 0 of each pipeline holds"));
}

TEST_CASE("plan: models with experts") {
  std::string const mixtral = scratch_file(
      "mixtral.json", R"({"hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
    "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "num_experts_per_tok": 2, "num_local_experts": 8, "tie_word_embeddings": false, "vocab_size": 32000})");
  // These are the published 46.7 billion, without norms.
  CHECK(planned("--model " + mixtral + " --cluster " + figures("H100", 4, 8)
                + " --batch 64 --top 1 --search 0")["parameters"]
        == doctest::Approx(46.7e9).epsilon(1e-3));
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
  std::string const asked = "plan --model 8B --sequence 4096 --cluster " + figures("H100", 2, 8)
                            + " --batch 32 --top 2 --search 0.1 ";
  tool_result const text = run_tool(asked + "--objective cost --tokens 100");
  REQUIRE(text.code == 0);
  for (char const* part :
       {"device hours", "1e+11 tokens", "DeepSpeed", "ds.json", "rules of published sweeps"})
    CHECK_MESSAGE(contains(text.out, part), part);
  tool_result const picture = run_tool(asked + "--objective days --as svg");
  CHECK(picture.code == 0);
  CHECK(contains(picture.out, "training time"));
  tool_result const page = run_tool(asked + "--as html");
  CHECK(page.code == 0);
  for (char const* part : {"<!DOCTYPE html>", "<svg", "utilisation %"})
    CHECK_MESSAGE(contains(page.out, part), part);
}

TEST_CASE("plan: a search finds no longer step") {
  std::string const asked = "--model 8B --sequence 4096 --cluster " + figures("A100", 4, 8)
                            + " --batch 32 --schedules 1f1b --top 1 ";
  auto const found = planned(asked + "--search 1")["plans"][0],
             kept = planned(asked + "--search 0")["plans"][0];
  CHECK(found["seconds"].get<double>() <= kept["seconds"].get<double>());
  CHECK(found["seconds"].get<double>() >= found["bound"].get<double>());
  CHECK(!kept.contains("seconds_in_catalog_order"));
}

TEST_CASE("plan: what it cannot read or do") {
  std::string const cluster = " --cluster " + figures("A100", 1, 8) + " --batch 8";
  auto const refused = [&](std::string const& arguments, std::string const& why) {
    tool_result const r = run_tool("plan " + arguments);
    CAPTURE(r.err);
    CHECK(r.code == 2);
    CHECK_MESSAGE(contains(r.err, why), why);
  };
  refused("--model /no/such.json" + cluster, "such.json");
  refused("--model " + scratch_file("short.json", R"({"layers": 12})") + cluster, "lacks \"hidden\"");
  refused(
      "--model "
          + scratch_file(
              "slip.json",
              R"({"layers": 1, "hidden": 8, "heads": 2, "vocabulary": 9, "sequence": 4, "hiden": 8})")
          + cluster,
      "\"hiden\"");
  refused(
      "--model " + scratch_file("mla.json", R"({"num_hidden_layers": 2, "kv_lora_rank": 8})") + cluster,
      "kv_lora_rank");
  refused("--model " + scratch_file("lists.json", R"({"sequence": 8, "measured": [
      {"layers": [{"forward_ms": 1, "backward_ms": 2, "parameters": 9, "kept_bytes": 9, "output_bytes": 9}]},
      {"tensor": 1, "layers": [{"forward_ms": 1, "backward_ms": 2, "parameters": 9, "kept_bytes": 9,
       "output_bytes": 9}]}]})")
              + cluster,
          "tensor ranks of its own");
  refused("--model 8B --objective beauty" + cluster, "--objective");
  refused("--model "
              + scratch_file("wide.json", R"({"layers": 2, "hidden": 8, "heads": 2, "vocabulary": 9,
      "sequence": 4, "precision": "fp32"})")
              + " --cluster " + scratch_file("narrow.json", two_nodes) + " --batch 32",
          "\"flops_fp32\"");
  refused("--model 8B --cluster 1x8xH1 --batch 8", "no machine 'H1' is known; there are:");
  refused("--model 8B --cluster " + figures("H100", 0, 8) + " --batch 8", "\"nodes\" must be");
  refused("--model 8B --cluster 0x8xH100 --batch 8", "--cluster: nodes");
  refused("--model 8B --cluster " + figures("H100", 1, 8) + " --batch 0", "--batch must be from 1");
  refused("--model 8B --cluster " + figures("H100", 3, 7) + " --batch 8 --schedules hanayo",
          "not 'hanayo'");
}
