// The words of predict's options that choose: as they are read, and as they are printed.
#pragma once

#include "options/choice.hpp"
#include <ashlar/cost/question/question.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace tool {

inline constexpr std::array sharding_choices{std::pair{"none", ashlar::cost::sharding::none},
                                             std::pair{"optimizer", ashlar::cost::sharding::optimizer},
                                             std::pair{"gradients", ashlar::cost::sharding::gradients},
                                             std::pair{"full", ashlar::cost::sharding::full}};

inline constexpr std::array format_choices{std::pair{"bf16", ashlar::cost::number_format::bf16},
                                           std::pair{"fp16", ashlar::cost::number_format::fp16},
                                           std::pair{"fp32", ashlar::cost::number_format::fp32},
                                           std::pair{"fp8", ashlar::cost::number_format::fp8},
                                           std::pair{"mxfp8", ashlar::cost::number_format::mxfp8},
                                           std::pair{"nvfp4", ashlar::cost::number_format::nvfp4}};

inline constexpr std::array stack_choices{
    std::pair{"auto", ashlar::cost::program_kind::automatic},
    std::pair{"megatron-core", ashlar::cost::program_kind::tuned},
    std::pair{"megatron-bridge", ashlar::cost::program_kind::recipe},
    std::pair{"megatron-2021", ashlar::cost::program_kind::classic},
    std::pair{"plain", ashlar::cost::program_kind::plain},
    std::pair{"torchtitan", ashlar::cost::program_kind::torchtitan}};

inline constexpr std::array attention_choices{
    std::pair{"auto", ashlar::cost::attention_kernel::automatic},
    std::pair{"fused", ashlar::cost::attention_kernel::fused},
    std::pair{"unfused", ashlar::cost::attention_kernel::unfused},
    std::pair{"flash_attention_2", ashlar::cost::attention_kernel::flash_2},
    std::pair{"flash_attention_3", ashlar::cost::attention_kernel::flash_3},
    std::pair{"cudnn", ashlar::cost::attention_kernel::cudnn},
    std::pair{"sdpa", ashlar::cost::attention_kernel::sdpa}};

inline constexpr std::array split_choices{std::pair{"auto", ashlar::cost::sequence_split::automatic},
                                          std::pair{"on", ashlar::cost::sequence_split::on},
                                          std::pair{"off", ashlar::cost::sequence_split::off}};

// Parts of a layer, alone or with commas between them.
inline constexpr std::array recomputation_choices{
    std::pair{"none", ashlar::cost::recomputation::none},
    std::pair{"full", ashlar::cost::recomputation::full},
    std::pair{"attention", ashlar::cost::recomputation::attention},
    std::pair{"core_attn", ashlar::cost::recomputation::attention},
    std::pair{"mla_up_proj", ashlar::cost::recomputation::up_projections},
    std::pair{"layernorm", ashlar::cost::recomputation::norms},
    std::pair{"moe_act", ashlar::cost::recomputation::activation},
    std::pair{"mlp", ashlar::cost::recomputation::dense},
    std::pair{"moe", ashlar::cost::recomputation::experts},
    std::pair{"shared_experts", ashlar::cost::recomputation::shared_expert},
    std::pair{"op", ashlar::cost::recomputation::operators}};

// Parts of what a layer keeps, alone or with commas between them.
inline constexpr std::array offload_choices{
    std::pair{"none", ashlar::cost::offloaded::none},
    std::pair{"full", ashlar::cost::offloaded::all},
    std::pair{"attn_norm", ashlar::cost::offloaded::attention_norm},
    std::pair{"qkv_linear", ashlar::cost::offloaded::norm_result},
    std::pair{"core_attn", ashlar::cost::offloaded::attention},
    std::pair{"attn_proj", ashlar::cost::offloaded::attention_result},
    std::pair{"mlp_norm", ashlar::cost::offloaded::feed_norm},
    std::pair{"expert_fc1", ashlar::cost::offloaded::expert_input},
    std::pair{"moe_act", ashlar::cost::offloaded::activation}};

inline constexpr std::array weights_away_choices{
    std::pair{"none", ashlar::cost::offloaded_weights::none},
    std::pair{"copies", ashlar::cost::offloaded_weights::copies},
    std::pair{"own", ashlar::cost::offloaded_weights::own}};

// The first word for a value; empty for one that has none.
template <class Choices, class Value>
std::string word_for(Choices const& choices, Value value) {
  for (auto const& [word, meaning] : choices)
    if (meaning == value) return word;
  return {};
}

template <class Enum, std::size_t Count>
CLI::Option* add_choice(CLI::App& command, char const* name, Enum& value,
                        std::array<std::pair<char const*, Enum>, Count> const& choices,
                        char const* help) {
  return add_choice(command, name, value, std::map<std::string, Enum>(choices.begin(), choices.end()),
                    help);
}

}  // namespace tool
