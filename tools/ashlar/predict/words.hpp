// Why a run cannot be predicted, in the words of the options.
#pragma once

#include <ashlar/cost/question/question.hpp>

#include <string>

namespace tool {

std::string sentence_of(ashlar::cost::unpredictable const& e, ashlar::cost::question const& q);

// Says that a machine has no products in a format, and in which it has some.
std::string lacking_format_words(std::string const& machine, ashlar::cost::machine const& m);

}  // namespace tool
