// expect: language.hpp:[0-9:]+ error: .*which -D_GLIBCXX_DEBUG takes away: use -D_GLIBCXX_ASS
// errors: 2
// The vectors of -D_GLIBCXX_DEBUG do not work in constant expressions.
#ifndef OK
#define _GLIBCXX_DEBUG
#endif
#include <ashlar/ashlar.hpp>
