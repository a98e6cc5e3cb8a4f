// The cost of a given training run: seconds of a step, bytes of each device.
#pragma once

#include <ashlar/predict/answer.hpp>
#include <ashlar/predict/architecture.hpp>
#include <ashlar/predict/calibrate.hpp>
#include <ashlar/predict/constants.hpp>
#include <ashlar/predict/exchanges.hpp>
#include <ashlar/predict/execution.hpp>
#include <ashlar/predict/held_parameters.hpp>
#include <ashlar/predict/kept.hpp>
#include <ashlar/predict/kernels.hpp>
#include <ashlar/predict/machine.hpp>
#include <ashlar/predict/memory.hpp>
#include <ashlar/predict/offloading.hpp>
#include <ashlar/predict/pairs.hpp>
#include <ashlar/predict/passes.hpp>
#include <ashlar/predict/question.hpp>
#include <ashlar/predict/recomputation.hpp>
#include <ashlar/predict/stack.hpp>
#include <ashlar/predict/stage_devices.hpp>
#include <ashlar/predict/stage_layout.hpp>
#include <ashlar/predict/step.hpp>
#include <ashlar/predict/work.hpp>
