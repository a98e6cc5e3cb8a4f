// A value or none: std::optional for types with vectors, which nvcc 13 does not accept as literal
// types.
#pragma once

#include <ashlar/core/language.hpp>

#include <optional>
#include <vector>

namespace ashlar {

template <class Value>
class literal_optional {
 public:
  constexpr literal_optional() = default;
  constexpr literal_optional(std::nullopt_t) {}
  constexpr literal_optional(Value v) { held_.push_back(static_cast<Value&&>(v)); }

  constexpr bool has_value() const { return !held_.empty(); }
  constexpr explicit operator bool() const { return has_value(); }
  constexpr Value const& operator*() const { return held_[0]; }
  constexpr Value const* operator->() const { return held_.data(); }

  friend constexpr bool operator==(literal_optional const&, literal_optional const&) = default;

 private:
  std::vector<Value> held_;  // one or none
};

}  // namespace ashlar
