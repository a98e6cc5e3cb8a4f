// expect: language.hpp:[0-9:]+ error: .*Ashlar needs C\+\+20: add -std=c\+\+20
// standard: c++17
// errors: 2
// Without -std=c++20 the compiler says so, and ends: the second error is the file that is missing.
#include <ashlar/ashlar.hpp>
#include <ashlar/render/text.hpp>
