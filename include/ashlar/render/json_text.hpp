// Escapes strings for JSON.
#pragma once

#include <ashlar/core/language.hpp>

#include <string>
#include <string_view>

namespace ashlar::render_detail {

// Returns the text between the quotes; safe inside an HTML script element, too.
std::string escape_json(std::string_view raw);

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/json_text.ipp>
#endif
