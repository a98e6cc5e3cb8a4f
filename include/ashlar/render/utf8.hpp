// Makes names from outside valid in JSON, XML and HTML.
#pragma once

#include <ashlar/core/language.hpp>

#include <string>
#include <string_view>

namespace ashlar::render_detail {

// Returns the text with U+FFFD for each byte that is not part of UTF-8 (RFC 3629: no surrogates, no
// overlong forms), and for U+FFFE and U+FFFF, which XML does not have.
std::string valid_utf8(std::string_view raw);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/utf8.ipp>
#endif
