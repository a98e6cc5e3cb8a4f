// `ashlar predict` for models with parts before the decoder, from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

constexpr char const* decoder_layer =
    R"({"mix":{"kind":"attention","heads":16,"groups":16,"head":64},"feed":{"kind":"dense","is_gated":true,"width":4096}})";
constexpr char const* eye_layer =
    R"({"mix":{"kind":"attention","heads":8,"groups":8,"head":64,"sees_all":true},"feed":{"kind":"dense","width":2048}})";

// A decoder of two layers; a tower of two, and a product that leads from it to the decoder.
std::string seeing_file(std::string const& more = "", std::string const& of_tower = "",
                        std::string const& name = "eye") {
  static int count = 0;
  return scratch_file(
      "seeing" + std::to_string(++count) + ".json",
      R"({"name":"seeing","architecture":{"hidden":1024,"vocabulary":32000,"kinds":[)"
          + std::string(decoder_layer) + R"(],"layers":[0,0],"towers":[{"name":")" + name
          + R"(","hidden":512,)" + R"("tokens":257,"beside":1000,"kinds":[)" + eye_layer
          + R"(],"layers":[0,0])" + of_tower
          + R"(},{"name":"bridge","tokens":256,"continues":true,"products":[{"rows":256,"inner":512,)"
          + R"("columns":1024}]}])" + more + "}}");
}

constexpr double eye_size = 2 * (4 * 512.0 * 512 + 2 * 512 * 2048.0) + 1000, bridge_size = 512 * 1024.0,
                 decoder_size = 2 * 32000.0 * 1024 + 2 * (4 * 1024.0 * 1024 + 3 * 1024 * 4096.0);

std::string const some_sizes = " --cluster 8xH100 --sequence 1024 --batch 64 ";

// The script of Megatron-LM's T5 with 220 million parameters.
std::string t5_script(std::string const& more = "") {
  static int count = 0;
  return scratch_file("t5_" + std::to_string(++count) + ".sh",
                      "torchrun --nproc-per-node 8 pretrain_t5.py --encoder-num-layers 12 "
                      "--decoder-num-layers 12 --hidden-size 768 --num-attention-heads 12 "
                      "--ffn-hidden-size 3072 --encoder-seq-length 512 --decoder-seq-length 128 "
                      "--max-position-embeddings 512 --micro-batch-size 64 --global-batch-size 512 "
                      "--vocab-size 29056 --vocab-extra-ids 100 --bf16 "
                          + more);
}

}  // namespace

TEST_CASE("predict with towers: parameters, what trains, and what is assumed") {
  auto const all = predicted_run("--model " + seeing_file() + some_sizes),
             some = predicted_run("--model " + seeing_file() + some_sizes + "--freeze eye");
  CHECK(all["parameters"] == decoder_size + eye_size + bridge_size);
  CHECK(all["trained_parameters"] == all["parameters"]);
  CHECK(some["trained_parameters"] == decoder_size + bridge_size);
  CHECK(some["step_seconds"].get<double>() < all["step_seconds"].get<double>());
  CHECK(some["peak_bytes"].get<double>() < all["peak_bytes"].get<double>());
  CHECK(all["interval"].is_null());
  CHECK(contains(all["notes"].dump(),
                 "with eye: 2 layers, 6.3 million parameters; 1 input of 257 tokens"));
  CHECK(contains(all["notes"].dump(), "are assumed; --tower-tokens"));
  CHECK(predicted_run("--model " + seeing_file(R"(,"freeze":"eye")") + some_sizes)["step_seconds"]
        == some["step_seconds"]);
}

TEST_CASE("predict --tower-tokens: inputs, their tokens, and those that follow from them") {
  auto const asked = [&](std::string const& more) {
    return predicted_run("--model " + seeing_file() + some_sizes + more);
  };
  auto const usual = asked(""), twice = asked("--tower-tokens eye=257x2"),
             small = asked("--tower-tokens eye=129");
  auto const products = [](nlohmann::json const& run) { return run["terms"]["products"].get<double>(); };
  CHECK(asked("--tower-tokens eye=257")["step_seconds"] == usual["step_seconds"]);
  CHECK(products(twice) > products(usual));
  CHECK(products(small) < products(usual));
  CHECK(contains(small["notes"].dump(), "1 input of 128 tokens"));  // of the bridge
  CHECK(!contains(small["notes"].dump(), "are assumed"));
  CHECK(contains(twice["options"].get<std::string>(), "--tower-tokens eye=257x2"));
}

TEST_CASE(
    "predict with towers: words for those that read an input, and those that lead to the decoder") {
  auto const trained = [&](std::string const& more) {
    return predicted_run("--model " + seeing_file("", "", "eye.blocks") + some_sizes
                         + more)["trained_parameters"]
        .get<double>();
  };
  CHECK(trained("--freeze encoders") == decoder_size + bridge_size);
  CHECK(trained("--freeze aligners") == decoder_size + eye_size);
  CHECK(trained("--freeze encoders,aligners") == decoder_size);
  CHECK(trained("--freeze eye") == decoder_size + bridge_size);  // up to a dot
  CHECK(trained("--train-only aligners") == bridge_size);
  CHECK(trained("--lora 8,whole=aligners --freeze encoders") - bridge_size
        == trained("--lora 8 --freeze towers"));
  CHECK(trained("--lora 8,train=encoders,train=aligners") - eye_size - bridge_size
        == trained("--lora 8 --freeze towers"));
  CHECK(trained("--tower-tokens eye=100") == trained(""));
  // A recipe says it of all models.
  CHECK(predicted_run("--model 8B" + some_sizes + "--freeze encoders")["step_seconds"]
        == predicted_run("--model 8B" + some_sizes)["step_seconds"]);
}

TEST_CASE("predict --tower-ranks: which ranks share the work of towers") {
  auto const asked = [&](std::string const& more) {
    return predicted_run("--model " + seeing_file() + some_sizes + more);
  };
  auto const bytes = [&](std::string const& more) {
    return asked("--tensor 4 " + more)["memory"][0]["parameters"].get<double>();
  };
  CHECK(bytes("--tower-ranks none") - bytes("") == doctest::Approx(2 * 0.75 * (eye_size - 1000)));
  CHECK(bytes("--tower-ranks tensor") == bytes(""));
  CHECK(asked("--tensor 4 --tower-ranks none")["terms"]["products"].get<double>()
        > asked("--tensor 4")["terms"]["products"].get<double>());
  auto const split = asked("--context 2"), whole = asked("");
  CHECK(split["parameters"] == whole["parameters"]);
  CHECK(split["terms"]["products"].get<double>() > whole["terms"]["products"].get<double>() / 2);
  auto const none = asked("--context 2 --tower-ranks none");
  CHECK(contains(none["options"].get<std::string>(), "--tower-ranks none"));
  std::string const run = scratch_file(
      "whole_towers.json",
      run_tool("predict --as run --tensor 4 --tower-ranks none --model " + seeing_file() + some_sizes)
          .out);
  CHECK(predicted_run("--run " + run)["step_seconds"]
        == asked("--tensor 4 --tower-ranks none")["step_seconds"]);
  // A program says it of all models.
  CHECK(predicted_run("--model 8B" + some_sizes + "--tower-ranks context --context 2")["step_seconds"]
        == predicted_run("--model 8B" + some_sizes + "--context 2")["step_seconds"]);
}

TEST_CASE("predict with towers: a run's file has them, and is predicted to the same step") {
  for (char const* more : {"--freeze eye --tower-tokens eye=100x3", "--lora 8 --freeze bridge",
                           "--lora 8,whole=bridge --freeze eye", ""}) {
    std::string const run =
        scratch_file("towers_run.json",
                     run_tool("predict --as run --model " + seeing_file() + some_sizes + more).out);
    auto const one = predicted_run("--model " + seeing_file() + some_sizes + more),
               other = predicted_run("--run " + run);
    CHECK(one["step_seconds"] == other["step_seconds"]);
    CHECK(one["peak_bytes"] == other["peak_bytes"]);
    CHECK(one["trained_parameters"] == other["trained_parameters"]);
  }
}

TEST_CASE("predict --run: towers of a run stand before the decoder that --model says") {
  std::string const
      bridge = R"({"name":"bridge","products":[{"rows":256,"inner":512,"has_bias":true},{"rows":256}]})",
      run = scratch_file("towers_alone.json", R"({"format":"ashlar-run","version":1,"cluster":"8xH100",)"
                                              R"("batch":{"sequence":1024,"sequences":64},"towers":[)"
                                                  + bridge + "]}");
  auto const seeing = predicted_run("--run " + run + " --model 8B"),
             alone = predicted_run("--model 8B" + some_sizes);
  CHECK(seeing["parameters"].get<double>() - alone["parameters"].get<double>()
        == 512 * 4096.0 + 4096 + 4096 * 4096.0);
  // A model with towers of its own has these alone.
  CHECK(predicted_run("--run " + run + " --model " + seeing_file())["parameters"]
        == decoder_size + eye_size + bridge_size);
  all_refused({{"predict --run " + run, "no decoder behind them: --model says which"}});
  auto const packed = predicted_run("--model " + seeing_file() + some_sizes
                                    + "--lora 8,whole=bridge --freeze eye --frozen-weights "
                                      "4-bit,towers=16-bit"),
             wide = predicted_run("--model " + seeing_file() + some_sizes
                                  + "--lora 8,whole=bridge --freeze eye");
  CHECK(packed["trained_parameters"] == wide["trained_parameters"]);
  CHECK(packed["peak_bytes"].get<double>() < wide["peak_bytes"].get<double>());
}

TEST_CASE("predict with towers: what is not predicted is said") {
  std::string const go = "predict --model " + seeing_file() + some_sizes;
  all_refused({
      {go + "--context 2 --tower-ranks context", "inputs of a tower that they share"},
      {go + "--tower-ranks data", "takes tensor, none or context"},
      {go + "--freeze ear", "and towers, encoders, aligners, or towers by their names"},
      {go + "--freeze ey", "'ey' is no part of the model"},
      {go + "--tower-tokens ear=3", "the model has no 'ear'"},
      {go + "--tower-tokens bridge=3", "tokens of bridge follow from those before it"},
      {go + "--tower-tokens eye", "takes NAME=TOKENS"},
      {go + "--tower-tokens eye=2000", "less than the 1992 tokens"},
      {go + "--lora 8 --frozen-weights 4-bit", "whether a tower is packed"},
      {go + "--lora 8,train=bridg", "there are: embedding, head, eye, bridge"},
      {go + "--lora 8,whole=eye --freeze eye", "trains, and --freeze names it"},
      {go + "--freeze eye,bridge,embedding,head,layers=0-1", "nothing trains"},
      {"predict --model " + seeing_file("", "", "towers") + some_sizes, "a name of its own"},
      {"predict --model " + seeing_file("", R"(,"width":3)") + some_sizes, "means nothing here"},
      {"predict --model " + seeing_file("", R"(,"inputs":0)") + some_sizes, "inputs"},
  });
}

TEST_CASE("predict --megatron: T5 is an encoder and a decoder that attends to it") {
  auto const t5 = predicted_run("--cluster 8xH100 --megatron " + t5_script());
  double const h = 768, f = 3072, v = 29056, layer = 4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h,
               cross = 4 * h * h + 4 * h + 2 * h;
  CHECK(t5["parameters"] == v * h + 512 * h + v + 12 * (2 * layer + cross) + 4 * h);
  CHECK(contains(t5["options"].get<std::string>(), "--sequence 128 --batch 512 --micro-batch 64"));
  CHECK(contains(t5["options"].get<std::string>(), "--tower-tokens encoder=512"));
  CHECK(contains(t5["notes"].dump(), "with encoder: 12 layers"));
  auto const all_one =
      predicted_run("--cluster 8xH100 --tower-tokens encoder=128 --megatron " + t5_script());
  CHECK(all_one["step_seconds"].get<double>() < t5["step_seconds"].get<double>());
  std::string const go = "predict --cluster 8xH100 --megatron ";
  all_refused({
      {go + t5_script("--decoder-num-layers 6"), "another number of layers for its decoder"},
      {go + t5_script("--pipeline-model-parallel-size 2"), "predicted with --pipeline 1"},
      {go + t5_script("--pipeline-model-parallel-split-rank 1"),
       "a pipeline of an encoder and a decoder"},
      {go + t5_script("--group-query-attention --num-query-groups 4"), "pretrain_t5.py does not make"},
      {go + t5_script("--qk-layernorm"), "pretrain_t5.py does not take"},
      {go + t5_script("--num-layers 12"), "at which Megatron-LM stops"},
  });
}
