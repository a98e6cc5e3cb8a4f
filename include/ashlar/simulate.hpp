// The cost of running a program: time by cause, critical path, bytes.
#pragma once

#include <ashlar/program.hpp>
#include <ashlar/simulate/bound.hpp>
#include <ashlar/simulate/critical_path.hpp>
#include <ashlar/simulate/durations.hpp>
#include <ashlar/simulate/machine.hpp>
#include <ashlar/simulate/memory.hpp>
#include <ashlar/simulate/options.hpp>
#include <ashlar/simulate/part_timeline.hpp>
#include <ashlar/simulate/simulate.hpp>
#include <ashlar/simulate/slack.hpp>
#include <ashlar/simulate/timeline.hpp>
#include <ashlar/simulate/transfer_pairs.hpp>
#include <ashlar/simulate/usage.hpp>
