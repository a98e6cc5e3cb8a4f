// Models of `ashlar predict`: by name, from a Hugging Face config.json, or from general keys.
#pragma once

#include "predict/model_config.hpp"
#include <ashlar/cost/model/architecture.hpp>

#include <string>
#include <vector>

namespace tool {

struct described_model {
  std::string name;
  std::string type;                     // its model_type; empty: general keys
  std::string left_out;                 // a part of the file that is no decoder: "vision_config"
  std::vector<std::string> notes = {};  // for whoever reads a prediction of it
  std::string precision = {};           // of its products, as a file of `plan` says it; else empty
  ashlar::cost::architecture shape;
};

// Reads a name (llama3-70b), or a file. Throws usage_error.
described_model read_described_model(std::string const& name_or_file);

// Reads general keys, from another file.
described_model described_keys(nlohmann::json keys, std::string const& name);

// The types that are read exactly, in alphabetical order.
std::vector<std::string> known_model_types();

// Reads a config of such a type; false: it is none of them.
bool read_decoder(std::string const& type, model_config const& config, ashlar::cost::architecture& made);

}  // namespace tool
