// A schedule as the papers draw it.
#pragma once

#include <ashlar/render/svg_options.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>

namespace ashlar {

// A row a device, micro-batch numbers (of work: job.part) in the cells, kinds by colour, chunks by
// shade, routes by hatch, idle time in grey; a forward and a backward that run overlapped share a split
// cell. Throws violation: check_form(s), rule::counts_are_positive for a unit of less than a tick,
// rule::sizes_fit unless `widest` is from 1 to 1e6. Cells of long schedules are narrow, and numbers that
// have no room are left out. Thousands of passes are drawn to be seen at a glance: narrow rows without
// numbers, hatches and words at the pointer, neighbours alike as one cell.
std::string svg(schedule const& s, svg_options const& options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_schedule.ipp>
#endif
