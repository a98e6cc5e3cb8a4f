// The report of `ashlar check --for nccl-flight-recorder`.
#pragma once

#include <ashlar/record/hang.hpp>
#include <ashlar/record/passes.hpp>

#include <string>

namespace tool {

// Facts about the run that its record lacks.
struct recorded_run {
  bool goes_on = false;       // what a rank has not issued may still come
  bool shares_lanes = false;  // all transfers of a group have one communicator
};

// `passes` may be null.
std::string text_of(ashlar::hang const& why, ashlar::matched_record const& record,
                    ashlar::recorded_passes const* passes, recorded_run const& run);

}  // namespace tool
