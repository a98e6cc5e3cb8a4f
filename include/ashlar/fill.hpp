// Work of other systems in the gaps of a schedule.
#pragma once

#include <ashlar/fill/best_fit.hpp>
#include <ashlar/fill/early_work.hpp>
#include <ashlar/fill/exact_fit.hpp>
#include <ashlar/fill/fill.hpp>
#include <ashlar/fill/first_fit.hpp>
#include <ashlar/fill/gaps.hpp>
#include <ashlar/fill/options.hpp>
#include <ashlar/fill/part_times.hpp>
#include <ashlar/fill/placed_memory.hpp>
#include <ashlar/fill/rooms.hpp>
#include <ashlar/fill/step_bound.hpp>
