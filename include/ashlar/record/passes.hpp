// Which pass of a schedule a recorded transfer belongs to.
#pragma once

#include <ashlar/core/pass.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/record/matched_record.hpp>

#include <optional>
#include <string>
#include <vector>

namespace ashlar {

// The pass that made the value of a transfer, and the step it is of, from 0.
struct recorded_pass {
  pass made;
  long long step = 0;

  friend bool operator==(recorded_pass const&, recorded_pass const&) = default;
};

struct recorded_passes {
  // For each record, by operation; none where it is no transfer of an activation or gradient.
  std::vector<std::vector<std::optional<recorded_pass>>> of;
  std::string unknown = {};  // why none is known; empty: they are
};

// Numbers the transfers of floating-point values between two ranks, and takes the same number of the
// program, step by step. Passes are known only if this must be right: a group has the program's devices,
// every record of it is whole, and values go between the same pairs of devices as in the program.
// O(operations + instructions).
recorded_passes passes_of(matched_record const& record, program const& p);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/record/passes.ipp>
#endif
