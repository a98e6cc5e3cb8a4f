// The version of the library. CMake reads it from here.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar {

inline constexpr char version[] = "0.1.0";

}  // namespace ashlar
