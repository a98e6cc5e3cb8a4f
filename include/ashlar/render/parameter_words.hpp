// What parameters are called.
#pragma once

#include <ashlar/core/diagnosis.hpp>

namespace ashlar {

// The parameter as a thing; in the plural if it is the number of these.
char const* name_of(parameter which);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/parameter_words.ipp>
#endif
