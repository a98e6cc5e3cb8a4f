// The cost of a given training run: seconds of a step, bytes of each device.
#pragma once

#include <ashlar/cost/cluster/machine.hpp>
#include <ashlar/cost/layout/offloading.hpp>
#include <ashlar/cost/layout/recomputation.hpp>
#include <ashlar/cost/model/architecture.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/question/towers.hpp>
#include <ashlar/cost/step/answer.hpp>
#include <ashlar/cost/step/calibrate.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/execution.hpp>
#include <ashlar/cost/step/held_parameters.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/kernels.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/pairs.hpp>
#include <ashlar/cost/step/passes.hpp>
#include <ashlar/cost/step/step.hpp>
#include <ashlar/cost/step/tower_passes.hpp>
#include <ashlar/cost/step/work.hpp>
