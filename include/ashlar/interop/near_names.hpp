// Suggests known names for an unknown one.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// Insertions, deletions and substitutions from one word to the other. O(|a| |b|).
std::size_t edits(std::string_view a, std::string_view b);

// The text with A-Z as a-z.
std::string in_small_letters(std::string_view text);

// The name nearest to a wrong one, regardless of case, if any is near; else empty.
std::string nearest_of(std::string_view wrong, std::vector<std::string> const& names);

// "; did you mean 'H100'?", or nothing.
std::string did_you_mean(std::string_view wrong, std::vector<std::string> const& names);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/near_names.ipp>
#endif
