// Decoders by model_type.
#include "predict/decoder.hpp"

#include <array>

namespace tool {

namespace {

struct decoder_type {
  char const* name;
  void (decoder::*read)();
  double one_in = 1;  // layers that sees all, where a window is given
};

constexpr std::array decoder_types{decoder_type{"aquila", &decoder::llama},
                                   decoder_type{"baichuan", &decoder::llama},
                                   decoder_type{"bailing_moe", &decoder::bailing_moe},
                                   decoder_type{"bailing_moe_v2", &decoder::bailing_moe},
                                   decoder_type{"bloom", &decoder::bloom},
                                   decoder_type{"chatglm", &decoder::chatglm},
                                   decoder_type{"cohere", &decoder::cohere},
                                   decoder_type{"cohere2", &decoder::cohere, 4},
                                   decoder_type{"deepseek", &decoder::deepseek_v1},
                                   decoder_type{"deepseek_v2", &decoder::deepseek},
                                   decoder_type{"deepseek_v3", &decoder::deepseek},
                                   decoder_type{"deepseek_v32", &decoder::deepseek},
                                   decoder_type{"ernie4_5", &decoder::ernie},
                                   decoder_type{"ernie4_5_moe", &decoder::ernie_moe},
                                   decoder_type{"exaone4", &decoder::exaone4, 4},
                                   decoder_type{"falcon", &decoder::falcon},
                                   decoder_type{"gemma", &decoder::gemma},
                                   decoder_type{"gemma2", &decoder::gemma2, 2},
                                   decoder_type{"gemma3_text", &decoder::gemma3, 6},
                                   decoder_type{"glm", &decoder::glm},
                                   decoder_type{"glm4", &decoder::glm4},
                                   decoder_type{"glm4_moe", &decoder::glm4_moe},
                                   decoder_type{"glm_moe_dsa", &decoder::deepseek},
                                   decoder_type{"gpt2", &decoder::gpt2},
                                   decoder_type{"gpt_bigcode", &decoder::gpt2},
                                   decoder_type{"gpt_neox", &decoder::gpt_neox},
                                   decoder_type{"gpt_oss", &decoder::gpt_oss, 2},
                                   decoder_type{"gptj", &decoder::gptj},
                                   decoder_type{"granite", &decoder::llama},
                                   decoder_type{"granitemoe", &decoder::granitemoe},
                                   decoder_type{"grok-1", &decoder::grok},
                                   decoder_type{"hunyuan_v1_dense", &decoder::hunyuan_dense},
                                   decoder_type{"hunyuan_v1_moe", &decoder::hunyuan_moe},
                                   decoder_type{"internlm", &decoder::llama},
                                   decoder_type{"internlm2", &decoder::llama},
                                   decoder_type{"jamba", &decoder::jamba},
                                   decoder_type{"llama", &decoder::llama},
                                   decoder_type{"llama4_text", &decoder::llama4},
                                   decoder_type{"mamba2", &decoder::mamba2},
                                   decoder_type{"mimo", &decoder::qwen2},
                                   decoder_type{"minicpm", &decoder::llama},
                                   decoder_type{"minimax", &decoder::minimax},
                                   decoder_type{"mistral", &decoder::mistral},
                                   decoder_type{"mixtral", &decoder::mixtral},
                                   decoder_type{"nemotron", &decoder::nemotron},
                                   decoder_type{"nemotron-nas", &decoder::nemotron_nas},
                                   decoder_type{"nemotron_h", &decoder::nemotron_h},
                                   decoder_type{"olmo", &decoder::olmo},
                                   decoder_type{"olmo2", &decoder::olmo2},
                                   decoder_type{"olmoe", &decoder::olmoe},
                                   decoder_type{"opt", &decoder::opt},
                                   decoder_type{"orion", &decoder::orion},
                                   decoder_type{"phi3", &decoder::phi3},
                                   decoder_type{"qwen", &decoder::qwen},
                                   decoder_type{"qwen2", &decoder::qwen2},
                                   decoder_type{"qwen2_moe", &decoder::qwen2_moe},
                                   decoder_type{"qwen3", &decoder::qwen3},
                                   decoder_type{"qwen3_moe", &decoder::qwen3_moe},
                                   decoder_type{"qwen3_next", &decoder::qwen3_next},
                                   decoder_type{"smollm3", &decoder::smollm3},
                                   decoder_type{"starcoder2", &decoder::starcoder2},
                                   decoder_type{"telechat", &decoder::telechat},
                                   decoder_type{"xverse", &decoder::llama}};

}  // namespace

std::vector<std::string> known_model_types() {
  std::vector<std::string> names;
  for (decoder_type const& each : decoder_types) names.emplace_back(each.name);
  return names;
}

bool read_decoder(std::string const& type, model_config const& config,
                  ashlar::cost::architecture& made) {
  for (decoder_type const& each : decoder_types) {
    if (type != each.name) continue;
    decoder d(config, made, each.one_in);
    (d.*each.read)();
    made.predictions =
        static_cast<int>(config.size_or({"num_nextn_predict_layers", "num_mtp_layers"}, 0));
    return true;
  }
  return false;
}

}  // namespace tool
