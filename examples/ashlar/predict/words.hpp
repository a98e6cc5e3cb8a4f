// Why a run cannot be predicted, in the words of the options.
#pragma once

#include <ashlar/predict/question.hpp>

#include <string>

namespace tool {

std::string sentence_of(ashlar::predict::unpredictable const& e, ashlar::predict::question const& q);

}  // namespace tool
