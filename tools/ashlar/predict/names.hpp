// Names regardless of case, and suggestions for misspelt ones.
#pragma once

#include <ashlar/interop/near_names.hpp>

#include <filesystem>
#include <string>
#include <system_error>

namespace tool {

using ashlar::did_you_mean;
using ashlar::in_small_letters;
using ashlar::nearest_of;

// Whether an option that takes a name or a file is meant as a file.
inline bool is_path(std::string const& text) {
  std::error_code ignored;  // as of a name that is too long
  return text == "-" || text.find('/') != std::string::npos || text.ends_with(".json")
         || text.ends_with(".csv") || std::filesystem::exists(text, ignored);
}

}  // namespace tool
