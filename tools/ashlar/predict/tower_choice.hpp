// Towers of `ashlar predict`: their tokens, as an option has them, and what an answer says about them.
#pragma once

#include "predict/report.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tool {

// Reads --tower-tokens: vision_tower=1024x4, tokens of an input and inputs of a sequence, for a tower
// and those that read what it makes. Throws usage_error.
void choose_tower_tokens(std::string_view text, prediction& p);

// Reads --tower-ranks: which ranks share the work of all towers. Throws usage_error.
void choose_tower_ranks(std::string_view text, prediction& p);

// Throws usage_error if towers hand on more tokens than a sequence has.
void check_tower_tokens(prediction const& p);

// Sentences on what is counted for each tower, and what was assumed.
std::vector<std::string> remarks_on_towers(prediction const& p);

}  // namespace tool
