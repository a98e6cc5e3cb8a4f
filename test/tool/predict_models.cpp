// `ashlar predict`: how it reads a model.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace {

nlohmann::json counted(std::string const& config) {
  return predicted_run("--model " + scratch_file("config.json", config) + some_run);
}

}  // namespace

TEST_CASE("predict: keys of a model are read, null and 0 are absent") {
  std::string const plain =
      R"("num_hidden_layers":1,"hidden_size":1024,"intermediate_size":1024,"num_attention_heads":8,"vocab_size":1024)";
  double const matrices = 4 * 1024 * 1024 + 3 * 1024 * 1024 + 2 * 1024 * 1024;
  CHECK(counted("{" + plain + "}")["parameters"] == matrices);
  CHECK(counted("{" + plain + R"(,"num_key_value_heads":null,"num_experts":0,"kv_lora_rank":null,)"
                + R"("tie_word_embeddings":null,"shared_expert_intermediate_size":0})")["parameters"]
        == matrices);
  CHECK(counted("{" + plain + R"(,"head_dim":256})")["parameters"] == matrices + 4 * 1024 * 1024);
  CHECK(counted("{" + plain
                + R"(,"num_experts":4,"num_experts_per_tok":2,"mlp_only_layers":[0]})")["parameters"]
        == matrices);
  // A decoder inside a larger model, without the rest.
  auto const inside = counted(R"({"model_type":"gemma3","text_config":{"model_type":"gemma3_text",)"
                              R"("hidden_size":5376,"intermediate_size":21504,"num_attention_heads":32,)"
                              R"("num_hidden_layers":62,"num_key_value_heads":16,"head_dim":128,)"
                              R"("sliding_window":1024},"vision_config":{"hidden_size":1152}})");
  CHECK(inside["parameters"] == 27009002240.0 + 344064);
}

TEST_CASE("predict: a window makes long sequences faster") {
  std::string const keys =
      R"({"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,)"
      R"("num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":32000,"sliding_window":)";
  std::string const run = " --cluster 8xH100 --sequence 32768 --batch 8 --sharding full";
  auto const seconds = [&](std::string const& window) {
    return predicted_run("--model " + scratch_file("m.json", keys + window + "}") + run)["step_seconds"]
        .get<double>();
  };
  CHECK(seconds("4096") < 0.8 * seconds("null"));
  CHECK(seconds("131072") == seconds("null"));
}

TEST_CASE("predict: numbers that Python writes and JSON has not are read, and a type is not guessed") {
  std::string const written =
      R"({"model_type":"mamba2","time_step_limit":[0.0,Infinity],"note":"Infinity NaN",)"
      R"("rope_theta":NaN,"layer_norm_epsilon":-Infinity})";
  CHECK(counted(written)["parameters"] == counted(R"({"model_type":"mamba2"})")["parameters"]);
  tool_result const other =
      run_tool("predict --model " + scratch_file("other.json", R"({"model_type":"bert"})") + some_run);
  CHECK(other.code == 2);
  CHECK(contains(other.err, "model_type 'bert' is not known"));
  CHECK(!contains(other.err, "general"));
}

TEST_CASE("predict: keys that transformers ignores for a type are listed, and change nothing") {
  std::string const more =
      R"({"model_type":"qwen3_moe","use_qk_norm":true,"length_penalty":1.0,"own":[1]})";
  std::string const file = scratch_file("more.json", more);
  CHECK(counted(more)["parameters"] == counted(R"({"model_type":"qwen3_moe"})")["parameters"]);
  CHECK(contains(run_tool("predict --model " + file + some_run).out,
                 "not read: length_penalty, own, use_qk_norm"));
  CHECK(counted(R"({"model_type":"starcoder2","mlp_type":"default"})")["parameters"]
        == counted(R"({"model_type":"starcoder2"})")["parameters"]);
  // Lists of equal numbers, and windows in letters.
  std::string const experts = R"({"model_type":"hunyuan_v1_moe","num_experts":8,"moe_topk":)";
  CHECK(counted(experts + "[2,2]}")["parameters"] == counted(experts + "2}")["parameters"]);
  std::string const exaone = R"({"model_type":"exaone4","sliding_window":512,"sliding_window_pattern":)";
  CHECK(counted(exaone + R"("LLLG"})") == counted(exaone + "4}"));
  CHECK(counted(exaone + R"("LG"})") != counted(exaone + "4}"));
}

TEST_CASE("predict: a module's file counts as its architecture, or is refused with its reason") {
  std::string const decoder =
      R"({"hidden":64,"vocabulary":100,"embedding":0,"is_tied":false,"beside":64,"layers":[0,0],"kinds":[)"
      R"({"mix":{"kind":"attention","heads":4,"groups":2,"head":16,"window":32,"beside":64},)"
      R"("feed":{"kind":"dense","is_gated":true,"width":128,"beside":64}}]})";
  auto const file = [&](std::string const& rest) {
    return R"({"ashlar_model":1,"parameters":{"all":86848},)" + rest + "}";
  };
  nlohmann::json const keys = counted(
      R"({"model_type":"mistral","hidden_size":64,"vocab_size":100,"num_hidden_layers":2,"sliding_window":32,)"
      R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"intermediate_size":128})");
  nlohmann::json const module = counted(file(R"("architecture":)" + decoder));
  for (char const* each : {"parameters", "active_parameters", "step_seconds", "peak_bytes"})
    CHECK(module[each] == keys[each]);
  std::string const seeing = scratch_file(
      "seeing.json",
      R"({"ashlar_model":1,"parameters":{"all":86900},"left_out":{"visual":52},"architecture":)"
          + decoder + "}");
  CHECK(contains(run_tool("predict --model " + seeing + some_run).out,
                 "without visual: the decoder alone"));
  auto const model = [&](char const* name, std::string const& text) {
    return "predict" + some_run + " --model " + scratch_file(name, text);
  };
  all_refused({
      {model("module1.json", file(R"("no_architecture":"its attention is not causal")")),
       "its attention is not causal"},
      {model("module2.json", R"({"ashlar_model":2})"), "is of another version than 1"},
      {model("module3.json",
             R"({"ashlar_model":1,"parameters":{"all":9},"architecture":)" + decoder + "}"),
       "but those of its architecture are 86848"},
      {model("module4.json", file(R"("architecture":{"hidden":64})")), "vocabulary"},
      {model("module5.json",
             file(R"("architecture":{"hidden":64,"vocabulary":9,"embedding":0,"beside":0,)"
                  R"("is_tied":true,"kinds":[{"mix":{"kind":"other"}}],"layers":[0]})")),
       "no kind 'other' is known; there are: none attention"},
      {model("module6.json",
             file(R"("architecture":{"hidden":64,"vocabulary":9,"embedding":0,"beside":0,)"
                  R"("is_tied":true,"kinds":[],"layers":[0]})")),
       "layers"},
  });
}

TEST_CASE("predict: types whose code comes with their weights have the published parameters") {
  // Half of the bytes in the index of their weights; those of DeepSeekMoE and MiniCPM are published as
  // counts.
  struct published {
    char const* config;
    double parameters;
  };
  for (published const& each :
       {published{
            R"({"model_type":"qwen","hidden_size":4096,"intermediate_size":22016,"kv_channels":128,)"
            R"("no_bias":true,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":151936})",
            7721324544},
        published{R"({"model_type":"qwen","n_embd":8192,"ffn_hidden_size":49152,"kv_channels":128,)"
                  R"("n_head":64,"n_layer":80,"vocab_size":152064,"padded_vocab_size":152064})",
                  72287920128},
        published{R"({"model_type":"baichuan","hidden_size":5120,"intermediate_size":13696,)"
                  R"("num_attention_heads":40,"num_hidden_layers":40,"vocab_size":125696})",
                  13896668160},
        published{
            R"({"model_type":"internlm2","bias":false,"hidden_size":4096,"intermediate_size":14336,)"
            R"("num_attention_heads":32,"num_key_value_heads":8,"num_hidden_layers":32,)"
            R"("vocab_size":92544})",
            7737708544},
        published{R"({"model_type":"chatglm","add_qkv_bias":true,"ffn_hidden_size":13696,)"
                  R"("hidden_size":4096,"kv_channels":128,"multi_query_attention":true,)"
                  R"("multi_query_group_num":2,"num_attention_heads":32,"num_layers":28,)"
                  R"("padded_vocab_size":65024,"vocab_size":1})",
                  6243584000},
        published{R"({"model_type":"deepseek","hidden_size":2048,"intermediate_size":10944,)"
                  R"("moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,)"
                  R"("num_experts_per_tok":6,"first_k_dense_replace":1,"num_attention_heads":16,)"
                  R"("num_key_value_heads":16,"num_hidden_layers":28,"vocab_size":102400})",
                  16375728128},
        published{R"({"model_type":"minicpm","hidden_size":2304,"intermediate_size":5760,)"
                  R"("num_attention_heads":36,"num_key_value_heads":36,"num_hidden_layers":40,)"
                  R"("vocab_size":122753,"scale_emb":12})",
                  2724880896}}) {
    CAPTURE(each.config);
    auto const found = counted(each.config);
    CHECK(found["parameters"] == each.parameters);
    CHECK(contains(found["notes"].dump(), "is no type of transformers"));
  }
}

TEST_CASE("predict: layers of nemotron-nas say their own sizes") {
  std::string const begin =
      R"({"model_type":"nemotron-nas","hidden_size":512,"num_attention_heads":8,"num_hidden_layers":3,)"
      R"("vocab_size":1000,"num_key_value_heads":null,"block_configs":[)";
  std::string const attends = R"({"attention":{"n_heads_in_group":4,"window_length":null},)",
                    rests = R"({"attention":{"no_op":true,"n_heads_in_group":null},)";
  std::string const blocks = attends + R"("ffn":{"ffn_mult":2.625}},)" + rests
                             + R"("ffn":{"ffn_mult":0.5}},)" + attends + R"("ffn":{"no_op":true}}]})";
  // 2 heads of keys, of 64; 2 x 2.625 x 512 / 3 = 896 is 1024, 170 is 256.
  double const attention = 2 * 512 * 512 + 2 * 512 * 128 + 512;
  CHECK(counted(begin + blocks)["parameters"]
        == 2 * attention + 3 * 512 * 1024 + 512 + 3 * 512 * 256 + 512 + 2 * 1000 * 512 + 512);
  std::string const replaced = attends + R"("ffn":{"replace_with_linear":true,"ffn_mult":1}}]})";
  for (auto const& [text, why] :
       {std::pair{begin + replaced, "replace_with_linear"}, std::pair{begin + "]}", "block_configs"}})
    all_refused({{"predict --model " + scratch_file("nas.json", text) + some_run, why}});
}

TEST_CASE("predict: keys that a type's own code does not have are refused if they may change it") {
  std::string const begin = R"({"hidden_size":64,"intermediate_size":96,"num_attention_heads":4,)"
                            R"("num_hidden_layers":2,"vocab_size":1000,"model_type":)";
  auto const run = [&](std::string const& more) {
    return "predict --model " + scratch_file("own.json", begin + more + "}") + some_run;
  };
  CHECK(run_tool(run(R"("baichuan","length_penalty":1.0,"model_max_length":4096)")).code != 2);
  all_refused({{run(R"("baichuan","num_key_value_heads":2)"), "num_key_value_heads"}});
  all_refused({{run(R"("minicpm","num_experts":8)"), "num_experts"}});
  all_refused({{run(R"("mimo","attention_bias":false)"), "attention_bias"}});
  all_refused({{run(R"("bailing_moe","num_experts":4)"), "lacks \"use_bias\""}});
  all_refused({{run(R"("qwen","kv_channels":16,"padded_vocab_size":1024)"), "padded_vocab_size"}});
}
