// A model as the layers that are counted: in a run, or in a file that `python -m ashlar_pp.read model`
// wrote.
#pragma once

#include "files/json_files.hpp"
#include "predict/models.hpp"

#include <nlohmann/json_fwd.hpp>

namespace tool {

// Every size that predictions use (docs/formats.md); sizes of 0 are left out.
nlohmann::ordered_json json_of(described_model const& model);

// Whether it has the layers that are counted, or the reason why it has none.
bool is_model_file(nlohmann::json const& root);

// Reads what json_of or the Python package writes. Throws input_error with the place in `source` for
// sizes that are no numbers from 0 on, unknown keys, layers of a kind that is not there, parameters that
// do not add up to those that the file gives, and with the file's reason if it has no architecture.
described_model model_in(json_text const& source, nlohmann::json const& model);

// Adds the towers of a list of them; sizes of products that it leaves out are the decoder's width.
// Throws input_error likewise.
void read_towers(json_text const& source, nlohmann::json const& from, ashlar::cost::architecture& into);

}  // namespace tool
