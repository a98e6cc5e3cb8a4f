// The best layouts where the question leaves sizes open.
#pragma once

#include "predict/framework_files.hpp"
#include "predict/report.hpp"

#include <cstddef>

namespace tool {

// Tries the sizes that `given` does not name, says in p.layouts what was found, and asks for the fastest
// that fits, or for the smallest if none does. Throws usage_error if no layout is possible.
void choose_layout(prediction& p, option_words const& given, std::size_t most);

}  // namespace tool
