// `ashlar predict`: what it refuses, and the words for it.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("predict: what is wrong is named, with what is allowed") {
  std::string const go = "predict" + some_run;
  int files = 0;
  auto const model = [&](std::string const& config) {
    std::string const name = "wrong" + std::to_string(++files) + ".json";
    return "predict" + some_run + " --model " + scratch_file(name, config);
  };
  std::string const llama = R"("model_type":"llama","hidden_size":64,"num_attention_heads":4)";
  all_refused({
      {go + " --model 8B --explain --as json", "--explain has no effect"},
      {go + " --model 8B --calibrate x.csv", "--model has no effect with --calibrate"},
      {go + " --model lama3-8b", "did you mean 'llama3-8b'?"},
      {go + " --model no.json", "cannot read 'no.json'"},
      {"predict --model 8B --sequence 1 --batch 1 --cluster 8xH10", "did you mean"},
      {"predict --model 8B --sequence 1 --batch 1 --cluster H100", "NODESxDEVICESxKIND"},
      {"predict --model 8B --sequence 1 --batch 1 --cluster 0x8xH100", "nodes must be from 1"},
      {go + " --model 8B --batch nan", "--batch"},
      {go + " --model 8B --tensor -2", "--tensor must be from 1"},
      {go + " --model 8B --tensor 99999999999999999999", "--tensor must be from 1"},
      {go + " --model 8B --tensor 3", "must divide the 16 devices"},
      {go + " --model 8B --data 8", "is 8 ranks, and --cluster has 16 devices"},
      {go + " --model 8B --micro-batch 3", "--batch 64 must be a multiple of --micro-batch 3"},
      {go + " --model 8B --chunks 2", "needs --pipeline of at least 2"},
      {go + " --model 8B --expert 2", "the model has no experts"},
      {go + " --model 8B --pipeline 2 --layout 16,15", "has 31 layers, and the model has 32"},
      {go + " --model 8B --pipeline 2 --layout 'Et*16|t*16L|'", "has 3 stages"},
      {go + " --model 8B --pipeline 2 --layout 'Et*16|x'", "not understood at character 7"},
      {model("{" + llama + R"(,"moe_latent_size":5})"), "is of another kind of model than 'llama'"},
      {model("{" + llama + R"(,"n_routed_experts":8})"), "is of another kind of model than 'llama'"},
      {model("{" + llama + R"(,"is_encoder_decoder":true})"), "is of another kind of model"},
      {model(
           R"({"model_type":"gpt2","scale_attn_by_inverse_layer_idx":true,"add_cross_attention":true})"),
       "has cross attention"},
      {model(R"({"model_type":"hunyuan_v1_moe","num_experts":8,"moe_topk":[2,1]})"),
       "\"moe_topk\" must be a whole number"},
      {model("{" + llama + R"(,"atention_bias":true})"), "did you mean 'attention_bias'?"},
      {model(R"({"model_type":"lama"})"), "did you mean 'llama'?"},
      {model("{" + llama + R"(,"num_hidden_layers":-1})"),
       "\"num_hidden_layers\" must be a whole number"},
      {model("{" + llama + R"(,"num_hidden_layers":1e400})"), ".json'"},
      {model("{" + llama + R"(,"vocab_size":"many"})"), "\"vocab_size\" must be a whole number"},
      {model(R"({"hidden_size":64})"), "lacks \"vocab_size\""},
      {model("[]"), "is not a JSON object"},
      {model(R"({"model_type":"mixtral","num_local_experts":2,"num_experts_per_tok":3})"),
       "chooses 3 of 2 experts"},
      {model(R"({"model_type":7})"), "\"model_type\" must be"},
      {model(R"({"model_type":["llama"]})"), "\"model_type\" must be"},
      {model(R"({"text_config":{"model_type":"llama"},"model_type":7})"), "\"model_type\" must be"},
      {model(R"({"text_config":{"model_type":7},"model_type":"gemma3"})"), "\"model_type\" must be"},
      {model("{" + llama + R"(,"num_key_value_heads":8})"), "no multiple of its 8 key heads"},
      {model("{" + llama + R"(,"num_key_value_heads":3})"), "no multiple of its 3 key heads"},
      {model(R"({"hidden_size":64,"vocab_size":9,"num_hidden_layers":1,"num_attention_heads":4,)"
             R"("intermediate_size":64,"num_key_value_heads":8})"),
       "no multiple of its 8 key heads"},
      {model("{" + llama + R"(,"num_key_value_heads":NaN})"), "\"num_key_value_heads\" must be"},
      {model("{" + llama + R"(,"vocab_size":-Infinity})"), "\"vocab_size\" must be"},
  });
}
