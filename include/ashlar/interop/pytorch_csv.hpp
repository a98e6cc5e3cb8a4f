// PyTorch's compute-only CSV: one line per device, with the device's passes in order, separated by
// commas: 0F0,0F1,0B0,...
//
// The file must be exactly that: tokens of digits, one of F I W B R (or BW in the oldest dialect),
// digits, or a pair of them as in (0F7;3B1)OVERLAP_F_B; no comments, no empty line. Cells may have
// quotes, as in Python's csv module, and blanks around their content. An empty cell is an idle slot, as
// PyTorch writes them, and has no meaning. Lines end in LF or CRLF; the last may lack its end.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// `dialect`: b_bw, or any other; the others give the same file here.
std::string pytorch_csv(schedule const& s, csv_dialect dialect = csv_dialect::i_b);

// The result of reading a file: a schedule, or the problems.
struct csv_schedule {
  std::optional<schedule> value;      // squeezed under unit costs; if there is no problem
  std::vector<csv_problem> problems;  // the first few
};

// Reads tokens that were read without a problem, and checks the schedule: known passes, each present
// once, on one route per micro-batch, without a cycle. A file of forwards alone is for inference. Routes
// are found by grouping the micro-batches by the lines of their stages. Linear in the text (n log n with
// many routes).
csv_schedule read_pytorch_csv(csv_tokens const& tokens, csv_problems& problems);

csv_schedule read_pytorch_csv(std::string_view text, csv_options const& options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/pytorch_csv.ipp>
#endif
