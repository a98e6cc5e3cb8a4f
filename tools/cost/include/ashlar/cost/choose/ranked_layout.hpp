// A layout with its prediction.
#pragma once

#include <ashlar/cost/question/question.hpp>

namespace ashlar::cost {

// The predicted time and memory of a layout.
struct ranked_layout {
  question asked;
  double seconds = 0;  // of a step
  double peak = 0;     // bytes, on any device
  double bound = 0;    // no other division of its layers takes less; 0: no others were tried
};

}  // namespace ashlar::cost
