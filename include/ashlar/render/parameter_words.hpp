// Names of parameters.
#pragma once

#include <ashlar/core/diagnosis.hpp>

namespace ashlar {

// The parameter's name; plural if the parameter is a count.
char const* name_of(parameter which);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/parameter_words.ipp>
#endif
