// The type of activations: float, or bf16 with float for sums, parameters and their gradients.
#pragma once

#include <ashlar/program/slot_layout.hpp>

#include <cuda_bf16.h>

#include <type_traits>

namespace gpt_cuda {

using bf16 = __nv_bfloat16;

template <class T>
concept activation_element = std::is_same_v<T, float> || std::is_same_v<T, bf16>;

template <activation_element T>
inline constexpr bool is_float = std::is_same_v<T, float>;

template <activation_element T>
inline constexpr ashlar::element_type slot_element =
    is_float<T> ? ashlar::element_type::f32 : ashlar::element_type::bf16;

}  // namespace gpt_cuda
