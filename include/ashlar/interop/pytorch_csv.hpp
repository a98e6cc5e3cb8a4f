// PyTorch's compute-only CSV: one line per device, with the device's passes in order, separated by
// commas: 0F0,0F1,0B0,...
//
// What is read must be exactly that: tokens of digits, one of F I W B R (or BW in the oldest dialect),
// digits, or a pair of them as in (0F7;3B1)OVERLAP_F_B; no comments, no empty line. Cells may have
// quotes around them, as Python's csv module has it, and blanks around what they hold. An empty cell is
// an idle slot, as PyTorch writes them, and says nothing. Lines may end in LF or CRLF; the last may lack
// its end.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// `dialect`: b_bw, or any other, which are the same here.
std::string pytorch_csv(schedule const& s, csv_dialect dialect = csv_dialect::i_b);

// What was read: a schedule, or the problems.
struct csv_schedule {
  std::optional<schedule> value;      // squeezed under unit costs; if there is no problem
  std::vector<csv_problem> problems;  // the first few
};

// Reads tokens that were read without a problem, and checks the schedule: passes known, each there
// once, on one route per micro-batch, without a cycle. A file of forwards alone is for inference. The
// routes are found by grouping the micro-batches by the lines that their stages stand on. Linear in the
// text (n log n where there are many routes).
csv_schedule read_pytorch_csv(csv_tokens const& tokens, csv_problems& problems);

csv_schedule read_pytorch_csv(std::string_view text, csv_options const& options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/pytorch_csv.ipp>
#endif
