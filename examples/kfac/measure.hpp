// How K-FAC compares with other optimizers, and what it costs.
#pragma once

#include "gpt/config.hpp"
#include <ashlar/fill/options.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <filesystem>

namespace kfac {

// Prints the loss on held-out text after some updates, by optimizer, and the time of an update and the
// busy share of the devices without the work, with the work in the bubbles of `filled`, and with it
// after the pipeline's steps.
void measure(gpt::config const& shape, ashlar::schedule const& step, ashlar::work_graph const& work,
             ashlar::filling const& filled, std::filesystem::path const& text);

}  // namespace kfac
