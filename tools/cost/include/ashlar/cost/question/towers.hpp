// Questions about the parts of a model before its decoder.
#pragma once

#include <ashlar/cost/question/question.hpp>

#include <cstddef>

namespace ashlar::cost {

// The question of a tower's layers: its width, and its tokens and inputs for a sequence. Each context
// rank has all of these: Megatron-Core, ms-swift and verl divide sequences of embedded tokens, with
// those that towers made.
question tower_question(question const& q, tower const& t);

// Whether nothing that trains is before a product of a tower: it has no gradient of its input.
bool reads_untrained(architecture const& model, std::size_t tower, std::size_t product);

// Keys of attention to what the last tower made, for a sequence.
double cross_keys(architecture const& model, int sequence);

}  // namespace ashlar::cost
