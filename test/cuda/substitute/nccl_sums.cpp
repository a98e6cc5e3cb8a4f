#include "nccl_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace nccl_substitute {
namespace {

// Brain floats: the upper half of a float, rounded to nearest, ties to even.
struct brain {
  std::uint16_t bits;
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
  static brain from(float x) {
    auto const b = std::bit_cast<std::uint32_t>(x);
    if (std::isnan(x)) return {0x7fff};
    return {static_cast<std::uint16_t>((b + 0x7fffU + ((b >> 16U) & 1U)) >> 16U)};
  }
};

// Half precision: 5 bits of exponent, 10 of the fraction.
struct half {
  std::uint16_t bits;
  operator float() const {
    int const exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
    float const sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
    if (exponent == 0x1f) return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(0x400 + fraction), exponent - 25);
  }
  static half from(float x) {
    auto const sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
    if (std::isnan(x)) return {0x7fff};
    if (std::abs(x) >= 65520.0F) return {static_cast<std::uint16_t>(sign | 0x7c00)};
    int exponent = 0;
    static_cast<void>(std::frexp(x, &exponent));
    // This is the unit of the last place; rounding up carries into the exponent.
    int const unit = std::max(exponent - 11, -24);
    auto const units = static_cast<int>(std::nearbyint(std::ldexp(std::abs(x), -unit)));
    int const bits = unit == -24 ? units : ((unit + 25) << 10) + (units - 0x400);
    return {static_cast<std::uint16_t>(sign | bits)};
  }
};

template <class T, class Wide>
void combine_as(std::byte* into, std::byte const* term, std::size_t count, ncclRedOp_t op) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof a, sizeof a);
    std::memcpy(&b, term + i * sizeof b, sizeof b);
    auto const x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    Wide z{};
    switch (op) {
      case ncclProd:
        z = static_cast<Wide>(x * y);
        break;
      case ncclMax:
        z = std::max(x, y);
        break;
      case ncclMin:
        z = std::min(x, y);
        break;
      default:
        z = static_cast<Wide>(x + y);
    }
    if constexpr (requires { T::from(z); })
      a = T::from(z);
    else
      a = static_cast<T>(z);
    std::memcpy(into + i * sizeof a, &a, sizeof a);
  }
}

template <class T, class Wide>
void divide_as(std::byte* sums, std::size_t count, int terms) {
  for (std::size_t i = 0; i < count; ++i) {
    T a;
    std::memcpy(&a, sums + i * sizeof a, sizeof a);
    auto const z = static_cast<Wide>(static_cast<Wide>(a) / static_cast<Wide>(terms));
    if constexpr (requires { T::from(z); })
      a = T::from(z);
    else
      a = static_cast<T>(z);
    std::memcpy(sums + i * sizeof a, &a, sizeof a);
  }
}

// Calls act with a value of the type and one that it is computed in; integers wrap.
template <class Act>
void with_type(ncclDataType_t type, Act act) {
  switch (type) {
    case ncclInt8:
      return act(std::int8_t{}, std::int8_t{});
    case ncclUint8:
      return act(std::uint8_t{}, std::uint8_t{});
    case ncclInt32:
      return act(std::int32_t{}, std::uint32_t{});
    case ncclUint32:
      return act(std::uint32_t{}, std::uint32_t{});
    case ncclInt64:
      return act(std::int64_t{}, std::uint64_t{});
    case ncclUint64:
      return act(std::uint64_t{}, std::uint64_t{});
    case ncclFloat16:
      return act(half{}, float{});
    case ncclFloat32:
      return act(float{}, float{});
    case ncclFloat64:
      return act(double{}, double{});
    case ncclBfloat16:
      return act(brain{}, float{});
    default:
      return;
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  std::size_t size = 0;
  with_type(type, [&size](auto value, auto) { size = sizeof value; });
  return size;
}

void combine(std::byte* into, std::byte const* term, std::size_t count, ncclDataType_t type,
             ncclRedOp_t op) {
  bool const orders = op == ncclMax || op == ncclMin;
  with_type(type, [&](auto value, auto wide) {
    using T = decltype(value);
    if constexpr (std::is_integral_v<T>) {
      // extremes need the sign, sums must be allowed to wrap
      if (orders) return combine_as<T, T>(into, term, count, op);
    }
    combine_as<T, decltype(wide)>(into, term, count, op);
  });
}

void divide(std::byte* sums, std::size_t count, ncclDataType_t type, int terms) {
  with_type(type, [&](auto value, auto wide) {
    using T = decltype(value);
    if constexpr (std::is_integral_v<T>)
      divide_as<T, T>(sums, count, terms);
    else
      divide_as<T, decltype(wide)>(sums, count, terms);
  });
}

}  // namespace nccl_substitute
