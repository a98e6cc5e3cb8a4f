// Draws a schedule as in papers.
#pragma once

#include <ashlar/render/svg_options.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>

namespace ashlar {

// Draws a row per device, micro-batch numbers (for work: job.part) in the cells, kinds by colour, chunks
// by shade, routes by hatch, idle time in grey. A forward and a backward that overlap share a split
// cell. Throws violation: check_form(s), rule::counts_are_positive for a unit of less than a tick,
// rule::sizes_fit unless `widest` is from 1 to 1e6. Cells of long schedules are narrow, and numbers
// without room are left out. Thousands of passes are drawn as an overview: narrow rows without numbers,
// hatches and tooltips, similar neighbours as one cell.
std::string svg(schedule const& s, svg_options const& options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_schedule.ipp>
#endif
