// Two forms of one library. Large functions that are not evaluated while compiling are defined in .ipp
// files. Without ASHLAR_COMPILED, headers include these, and everything is inline. The target
// ashlar::compiled sets ASHLAR_COMPILED, and its library has the definitions.
#pragma once

#include <ashlar/core/language.hpp>

#ifdef ASHLAR_COMPILED
#define ASHLAR_INLINE
#else
#define ASHLAR_INLINE inline
#endif
