// Chooses the parts of a model that are frozen, and its head.
#pragma once

#include "predict/report.hpp"
#include <ashlar/cost/model/architecture.hpp>

#include <string_view>

namespace tool {

// Freezes parts with commas, and no others: embedding, head, layers, layers=0-15, layers=20, first=4,
// last=2, a first share of all parameters as ratio=0.9, towers by their names or kinds; layers count
// from 0. Throws usage_error.
void freeze(std::string_view text, ashlar::cost::architecture& model);

// Freezes everything but these parts. A head that is tied is the embedding. Or but norms, or biases, of
// the whole model, as which the optimizer is given them: behind a comma, `unfrozen` says that gradients
// of all are taken nevertheless.
void freeze_all_but(std::string_view text, ashlar::cost::architecture& model);

// Puts a head of this many outputs, in words, in the place of logits. Throws usage_error.
void choose_head(std::string const& outputs, prediction& p);

}  // namespace tool
