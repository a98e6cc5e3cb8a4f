// A layout, with what is predicted of it.
#pragma once

#include <ashlar/predict/question.hpp>

namespace ashlar::predict {

// What a layout takes and holds.
struct ranked_layout {
  question asked;
  double seconds = 0;  // of a step
  double peak = 0;     // bytes, on any device
  double bound = 0;    // no other division of its layers takes less; 0: no others were looked at
};

}  // namespace ashlar::predict
