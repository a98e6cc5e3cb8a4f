// PyTorch's compute_comms CSV: passes, transfers, reductions and residency of weights, one line per
// device, in the order in which the device issues them.
#pragma once

#include <ashlar/interop/csv_actions.hpp>
#include <ashlar/interop/csv_problems.hpp>
#include <ashlar/interop/csv_tokens.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// The result of reading a file: a program, or the problems.
struct csv_program {
  std::optional<program> value;       // proved; if there is no problem
  std::vector<csv_problem> problems;  // the first few
  csv_dialect dialect = csv_dialect::detect;
};

// Checks tokens that were read without a problem: their names, one owner per stage and the passes; then
// their program, with rendezvous transfers on these lanes; then its waits.
csv_program read_pytorch_comms(csv_tokens const& tokens, csv_problems& problems,
                               transfer_lanes lanes = transfer_lanes::one);

csv_program read_pytorch_comms(std::string_view text, csv_options const& options = {});

// The reason why PyTorch cannot run the program, or nothing. Throws violation: check_well_formed(p),
// rule::every_pass_is_known for a pass of an unknown stage.
std::string pytorch_obstacle(program const& p);

// The obstacle of a file that was read without a problem, in its own order, with the program's lanes.
std::string pytorch_obstacle(csv_tokens const& tokens, program const& p);

// Describes how a file, or the file of a program without obstacle, gets stuck if these transfers of a
// rank share a communicator; or nothing. Stricter than the proof: in PyTorch a transfer is issued after
// the passes before it. If the file has another problem, returns that.
std::string pytorch_deadlock(csv_tokens const& tokens, transfer_lanes lanes);
std::string pytorch_deadlock(program const& p, transfer_lanes lanes);

// Writes each stream in its order. The dialect `waits`, also meant by `detect`, waits for each reduction
// at once, so that no two are pending, and for sends as in send_waits. Requires a program without
// obstacle.
std::string pytorch_comms_csv(program const& p, csv_dialect dialect = csv_dialect::detect);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/pytorch_comms.ipp>
#endif
