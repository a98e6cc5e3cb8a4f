// Compares K-FAC with other optimizers, and measures its cost.
#pragma once

#include "gpt/config.hpp"
#include <ashlar/fill/options.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <filesystem>

namespace kfac {

// Prints how long passes and parts of work take, then the time of an update and the busy share of the
// devices without the work, with it in the bubbles of as many steps as it needs, and with it after
// these steps; then the loss on held-out text after some updates of `filled`, by optimizer.
void measure(gpt::config const& shape, ashlar::schedule const& step, ashlar::filling const& filled,
             std::filesystem::path const& text);

}  // namespace kfac
