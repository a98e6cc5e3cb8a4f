// bf16 as the toolkit's header converts it: to the nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

inline __nv_bfloat16 __float2bfloat16(float x) {
  if (x != x) return {0x7fff};
  auto const bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t const rest = bits & 0xffffU, odd = (bits >> 16) & 1U;
  bool const up = rest > 0x8000U || (rest == 0x8000U && odd == 1U);
  return {static_cast<std::uint16_t>((bits >> 16) + (up ? 1U : 0U))};
}
