// Schedules side by side: comparison and trade-off.
#pragma once

#include <ashlar/catalog.hpp>
#include <ashlar/study/compare.hpp>
#include <ashlar/study/schedule_slack.hpp>
#include <ashlar/study/timeline_difference.hpp>
#include <ashlar/study/tradeoff.hpp>
