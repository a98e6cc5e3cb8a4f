// A model as the layers that are counted: written to a run, and read from one.
#pragma once

#include "files/json_files.hpp"
#include "predict/models.hpp"

#include <nlohmann/json_fwd.hpp>

namespace tool {

// Every size that predictions use (docs/formats.md); sizes of 0 are left out.
nlohmann::ordered_json json_of(described_model const& model);

// Reads what json_of writes. Throws input_error with the place in `source` for sizes that are no numbers
// from 0 on, unknown keys, and layers of a kind that is not there.
described_model model_in(json_text const& source, nlohmann::json const& model);

}  // namespace tool
