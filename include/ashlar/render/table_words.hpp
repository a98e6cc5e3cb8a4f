// Describes the actual and the required number of entries of a table.
#pragma once

#include <ashlar/core/diagnosis.hpp>

#include <string>

namespace ashlar::render_detail {

// Returns text like "costs of stages are 3, not 1 or 4".
std::string size_of_table(diagnosis const& d);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/table_words.ipp>
#endif
