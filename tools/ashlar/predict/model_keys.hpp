// The keys of a model's parts in files, with their sizes, flags and kinds.
#pragma once

#include <ashlar/cost/model/architecture.hpp>

#include <array>
#include <utility>

namespace tool {

inline constexpr std::array mixer_sizes{std::pair{"heads", &ashlar::cost::mixer::heads},
                                        std::pair{"groups", &ashlar::cost::mixer::groups},
                                        std::pair{"head", &ashlar::cost::mixer::head},
                                        std::pair{"window", &ashlar::cost::mixer::window},
                                        std::pair{"chunk", &ashlar::cost::mixer::chunk},
                                        std::pair{"q_rank", &ashlar::cost::mixer::q_rank},
                                        std::pair{"kv_rank", &ashlar::cost::mixer::kv_rank},
                                        std::pair{"nope", &ashlar::cost::mixer::nope},
                                        std::pair{"rope", &ashlar::cost::mixer::rope},
                                        std::pair{"value_head", &ashlar::cost::mixer::value_head},
                                        std::pair{"chosen", &ashlar::cost::mixer::chosen},
                                        std::pair{"index_heads", &ashlar::cost::mixer::index_heads},
                                        std::pair{"index_head", &ashlar::cost::mixer::index_head},
                                        std::pair{"inner", &ashlar::cost::mixer::inner},
                                        std::pair{"keys", &ashlar::cost::mixer::keys},
                                        std::pair{"steps", &ashlar::cost::mixer::steps},
                                        std::pair{"rank", &ashlar::cost::mixer::rank},
                                        std::pair{"beside", &ashlar::cost::mixer::beside},
                                        std::pair{"norms", &ashlar::cost::mixer::norms},
                                        std::pair{"biases", &ashlar::cost::mixer::biases}};
inline constexpr std::array mixer_flags{std::pair{"has_gate", &ashlar::cost::mixer::has_gate},
                                        std::pair{"sees_all", &ashlar::cost::mixer::sees_all}};
inline constexpr std::array mixer_kinds{std::pair{"none", ashlar::cost::mixer_kind::none},
                                        std::pair{"attention", ashlar::cost::mixer_kind::attention},
                                        std::pair{"compressed", ashlar::cost::mixer_kind::compressed},
                                        std::pair{"state_space", ashlar::cost::mixer_kind::state_space}};
inline constexpr std::array feed_sizes{
    std::pair{"width", &ashlar::cost::feed_forward::width},
    std::pair{"experts", &ashlar::cost::feed_forward::experts},
    std::pair{"chosen", &ashlar::cost::feed_forward::chosen},
    std::pair{"expert_width", &ashlar::cost::feed_forward::expert_width},
    std::pair{"shared_width", &ashlar::cost::feed_forward::shared_width},
    std::pair{"latent", &ashlar::cost::feed_forward::latent},
    std::pair{"groups", &ashlar::cost::feed_forward::groups},
    std::pair{"chosen_groups", &ashlar::cost::feed_forward::chosen_groups},
    std::pair{"beside", &ashlar::cost::feed_forward::beside},
    std::pair{"norms", &ashlar::cost::feed_forward::norms},
    std::pair{"biases", &ashlar::cost::feed_forward::biases},
    std::pair{"beside_expert", &ashlar::cost::feed_forward::beside_expert}};
inline constexpr std::array feed_flags{std::pair{"is_gated", &ashlar::cost::feed_forward::is_gated},
                                       std::pair{"is_clamped", &ashlar::cost::feed_forward::is_clamped}};
inline constexpr std::array feed_kinds{std::pair{"none", ashlar::cost::feed_forward_kind::none},
                                       std::pair{"dense", ashlar::cost::feed_forward_kind::dense},
                                       std::pair{"experts", ashlar::cost::feed_forward_kind::experts}};
inline constexpr std::array model_sizes{std::pair{"hidden", &ashlar::cost::architecture::hidden},
                                        std::pair{"vocabulary", &ashlar::cost::architecture::vocabulary},
                                        std::pair{"embedding", &ashlar::cost::architecture::embedding},
                                        std::pair{"beside", &ashlar::cost::architecture::beside},
                                        std::pair{"norms", &ashlar::cost::architecture::norms},
                                        std::pair{"biases", &ashlar::cost::architecture::biases}};
inline constexpr std::array model_flags{std::pair{"is_tied", &ashlar::cost::architecture::is_tied},
                                        std::pair{"repeats", &ashlar::cost::architecture::repeats}};

inline constexpr std::array tower_sizes{std::pair{"hidden", &ashlar::cost::tower::hidden},
                                        std::pair{"tokens", &ashlar::cost::tower::tokens},
                                        std::pair{"beside", &ashlar::cost::tower::beside}};
inline constexpr std::array tower_flags{
    std::pair{"continues", &ashlar::cost::tower::continues},
    std::pair{"keeps_all", &ashlar::cost::tower::keeps_all},
    std::pair{"is_undivided", &ashlar::cost::tower::is_undivided},
    std::pair{"is_split_by_context", &ashlar::cost::tower::is_split_by_context}};
inline constexpr std::array product_sizes{std::pair{"rows", &ashlar::cost::tower_product::rows},
                                          std::pair{"inner", &ashlar::cost::tower_product::inner},
                                          std::pair{"columns", &ashlar::cost::tower_product::columns}};
inline constexpr std::array product_flags{
    std::pair{"is_ahead", &ashlar::cost::tower_product::is_ahead},
    std::pair{"has_bias", &ashlar::cost::tower_product::has_bias},
    std::pair{"is_of_activations", &ashlar::cost::tower_product::is_of_activations}};

}  // namespace tool
