// Which layers each virtual stage has.
#pragma once

#include <ashlar/predict/question.hpp>

#include <string_view>
#include <vector>

namespace ashlar::predict {

// A layout as Megatron writes it: E embedding, t layer, m predicted token, L loss, | between stages,
// (...)*n and t*n repeat, commas and blanks say nothing. Or layers of each stage, with commas or blanks
// between: 7,8x14,7 has 8 layers on each of 14 stages. Throws unpredictable.
std::vector<stage> read_layout(std::string_view text);

// Those of the question, or of its layout; else layers divided evenly, or by cost where a plain program
// does so.
// Throws unpredictable.
std::vector<stage> stages_of(question const& q);

// Whether every stage has something to do: programs stop at one that has nothing.
bool every_stage_works(question const& q);

// The last stage with a head.
int last_with_head(std::vector<stage> const& stages);

}  // namespace ashlar::predict

#ifndef ASHLAR_COMPILED
#include <ashlar/predict/stage_layout.ipp>
#endif
