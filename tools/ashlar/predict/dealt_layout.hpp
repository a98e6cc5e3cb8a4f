// The best division of a run's layers into its stages, beside the one that it is compared with.
#pragma once

#include "predict/report.hpp"

#include <string>

namespace tool {

struct dealt_layout {
  prediction run;         // with the stages that were found, and its answer
  prediction typed;       // the same run with the division that it is compared with
  std::string of_typed;   // what that is: "this layout", "the even division"
  double bound = 0;       // seconds: no division that fits takes less; 0: none is known
  bool is_within = true;  // false: nothing fits, and the typed division's peak was the limit

  // Seconds that the typed division takes longer, as a share.
  double lost() const { return typed.answer.step.seconds / run.answer.step.seconds - 1; }
};

// Deals the layers of the run to its pipeline ranks and virtual stages; where `run` has a layout, the
// search also begins there. Throws usage_error for measured stages, for more stages than parts of the
// model, and if nothing fits.
dealt_layout deal_layout(prediction run, std::string const& of_typed);

// Writes the stages for a framework: megatron, megatron-bridge, torchtitan, deepspeed. Throws
// usage_error where it has no such stages.
std::string stages_for(std::string const& framework, prediction const& p);

// Why no certificate has the claim that no division takes less than `bound`, or nothing.
std::string certificate_obstacle(dealt_layout const& d);

// The pieces of the model with the division that was found, so that another program can check the
// claim. Times are whole nanoseconds, rounded down: other divisions may be faster by one for each stage
// and one more. Requires no obstacle. Throws unpredictable.
std::string certificate_of(dealt_layout const& d);

std::string text_of(dealt_layout const& d, bool explains);
std::string json_of(dealt_layout const& d);

}  // namespace tool
