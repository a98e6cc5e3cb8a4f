// Stops a compiler that does not compile C++20, or whose std::vector does not work in constant
// expressions. Every header includes this before any other.
#pragma once

#if __cplusplus < 202002L
#error "Ashlar needs C++20: add -std=c++20"
#define ASHLAR_STOPS
#elif defined(_GLIBCXX_DEBUG)
#error "Ashlar needs constexpr std::vector, which -D_GLIBCXX_DEBUG takes away: use -D_GLIBCXX_ASSERTIONS"
#define ASHLAR_STOPS
#endif
#ifdef ASHLAR_STOPS
#include "Ashlar stops here"  // compilers go on after an #error, but not after a missing file
#endif
