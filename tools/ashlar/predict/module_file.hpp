// Models that `python -m ashlar_pp.read model` wrote.
#pragma once

#include "files/json_files.hpp"
#include <ashlar/cost/model/architecture.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace tool {

inline bool is_module_file(nlohmann::json const& root) {
  return root.is_object() && root.contains("ashlar_model");
}

// Reads the key `architecture`. Throws usage_error, with the reason that the file gives, if the model
// has none.
ashlar::cost::architecture read_module_file(json_text const& text, std::string& left_out);

}  // namespace tool
