// Finds errors in a compute_comms CSV that its program cannot express: unknown names, second owners, and
// waits.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>

#include <vector>

namespace ashlar {

namespace csv_detail {

// Reports the first token of each stage that is on a second line.
void find_second_owners(csv_tokens const& tokens, csv_problems& problems);

// Reports names of stages and micro-batches that do not exist. `owner`: device by stage.
void find_unknown_names(csv_tokens const& tokens, std::vector<int> const& owner, csv_problems& problems);

// Reports sends and reductions without a wait after them. Requires that the file has each of them once.
void find_lost_waits(csv_tokens const& tokens, csv_problems& problems);

}  // namespace csv_detail

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_names.ipp>
#endif
