// A better program for costs that were measured, to take the place of a training's own.
#pragma once

#include "train/training.hpp"
#include <ashlar/program/program.hpp>
#include <ashlar/program/slot_layout.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/simulate/options.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace tool {

struct adaptation {
  // Empty: the program stays, and `why` says why.
  std::optional<ashlar::schedule> schedule = {};
  std::optional<ashlar::program> program = {};
  std::string why = {};
  ashlar::tick before = 0, after = 0;  // simulated makespans
};

// Bytes of a value on a data-parallel rank.
using value_bytes = std::function<ashlar::value_layout(ashlar::value_key)>;

// Searches an order for the passes of the training's schedule that takes less time on this machine. Its
// program is proved, adds up every gradient in the same order, and needs no more memory on any device.
// All processes that ask alike get the same program.
adaptation adapted(training const& t, ashlar::simulation_options const& machine,
                   value_bytes const& layout);

}  // namespace tool
