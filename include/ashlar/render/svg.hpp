// Pictures for documents: schedules and blocks as the papers draw them.
#pragma once

#include <ashlar/render/svg_block.hpp>
#include <ashlar/render/svg_graph.hpp>
#include <ashlar/render/svg_schedule.hpp>
