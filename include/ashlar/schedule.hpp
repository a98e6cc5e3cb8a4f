// Schedules: repeat, squeeze, compose, fuse, fold in half, and their metrics.
#pragma once

#include <ashlar/block.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/fold.hpp>
#include <ashlar/schedule/from_orders.hpp>
#include <ashlar/schedule/fuse.hpp>
#include <ashlar/schedule/metrics.hpp>
#include <ashlar/schedule/recomputed_passes.hpp>
#include <ashlar/schedule/relocate.hpp>
#include <ashlar/schedule/reorder.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/schedule.hpp>
#include <ashlar/schedule/squeeze.hpp>
#include <ashlar/schedule/without_devices.hpp>
