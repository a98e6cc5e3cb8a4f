// The best layouts where the question leaves sizes open.
#pragma once

#include "predict/framework_files.hpp"
#include "predict/report.hpp"
#include <ashlar/cost/choose/layouts.hpp>

#include <cstddef>
#include <string>

namespace tool {

// The sizes that the given options do not name.
ashlar::cost::open_sizes sizes_left_open(option_words const& given);

// Shows its progress on a terminal. A first interrupt (Ctrl-C) ends it with what was found so far.
// Throws usage_error if no layout is possible, even without `wanted`.
ashlar::cost::layouts_found search_layouts(
    prediction const& p, ashlar::cost::open_sizes const& open, std::size_t most,
    ashlar::cost::layout_filter wanted = ashlar::cost::any_layout);

// Says how many layouts were tried, and why others are not among the best: a line each.
std::string words_of_counts(ashlar::cost::layouts_found const& found);

// Tries the sizes that `given` does not name, says in p.layouts what was found, and asks for the fastest
// that fits, or for the smallest if none does. Throws usage_error if no layout is possible.
void choose_layout(prediction& p, option_words const& given, std::size_t most);

}  // namespace tool
