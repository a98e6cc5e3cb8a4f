// The layers of each virtual stage.
#pragma once

#include <ashlar/cost/question/question.hpp>

#include <string_view>
#include <vector>

namespace ashlar::cost {

// Reads a layout as Megatron writes it: E embedding, t layer, m predicted token, L loss, | between
// stages, (...)*n and t*n repeat, commas and blanks have no meaning. As Megatron asserts, it begins with
// its one E, ends with L, and has all m behind all layers (pipeline_parallel_layer_layout.py of
// megatron-core 0.16.1). One L takes all losses; several are a loss each, and may stand on several
// stages, as may m (Megatron-LM, pull requests 5318 and 5329; see is_spread()). Or reads layers of each
// stage, with commas or blanks between: 7,8x14,7 has 8 layers on each of 14 stages, and the last one
// predicts as many further tokens as the model. Throws unpredictable.
std::vector<stage> read_layout(std::string_view text, int predictions = 0);

// The layout's own stages; else layers divided evenly, or by cost if a plain program does so. Throws
// unpredictable.
std::vector<stage> stages_of(question const& q);

// Whether every stage has something to do. Programs stop at an empty stage. Requires a question that
// check() accepts. Throws as stages_of().
bool every_stage_works(question const& q);

// The last stage with a head.
int last_with_head(std::vector<stage> const& stages);

// Whether several stages have losses, or predict further tokens. Released versions of megatron-core, up
// to 0.16.1, refuse such layouts.
bool is_spread(std::vector<stage> const& stages);

// Losses that a stage takes of each token. One head takes those of further tokens, too, regardless of
// where their layers are (models/gpt/gpt_model.py of megatron-core 0.16.1).
inline int losses_of(architecture const& model, stage const& s) {
  return !s.has_head ? 0 : s.losses > 0 ? s.losses : 1 + model.predictions;
}

}  // namespace ashlar::cost
