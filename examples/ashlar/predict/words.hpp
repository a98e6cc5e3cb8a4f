// Why a run cannot be predicted, in the words of the options.
#pragma once

#include <ashlar/predict/question.hpp>

#include <string>

namespace tool {

std::string sentence_of(ashlar::predict::unpredictable const& e, ashlar::predict::question const& q);

// Says that a machine has no products in a format, and in which it has some.
std::string lacking_format_words(std::string const& machine, ashlar::predict::machine const& m);

}  // namespace tool
