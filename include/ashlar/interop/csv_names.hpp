// Errors in a compute_comms CSV that its program cannot express: names of things that do not exist,
// second owners, and waits.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>

#include <vector>

namespace ashlar {

namespace csv_detail {

// Says only the first token of each stage that is on a second line.
void find_second_owners(csv_tokens const& tokens, csv_problems& problems);

// `owner`: device by stage.
void find_unknown_names(csv_tokens const& tokens, std::vector<int> const& owner, csv_problems& problems);

// Each send and each reduction has one wait, after it. For a file that has each of them once.
void find_lost_waits(csv_tokens const& tokens, csv_problems& problems);

}  // namespace csv_detail

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_names.ipp>
#endif
