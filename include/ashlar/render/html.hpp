// A page to explore a schedule, or to compare two: zoom, pan, and see a pass's inputs and users at the
// pointer. It is one self-contained file.
#pragma once

#include <ashlar/render/svg_options.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>
#include <string_view>

namespace ashlar {

// Options of a page.
struct html_options {
  std::string_view title = "Pipeline schedule";
  std::string_view name = "schedule";
  std::string_view other_name = "other schedule";
  picture_theme theme = picture_theme::follow_reader;
  time_unit unit = {};  // of all times
};

namespace render_detail {

std::string html_data(schedule const& s, std::string_view name);

std::string html_page(std::string const& schedules, html_options const& options);

}  // namespace render_detail

// Shows one schedule. Throws violation: check_form(s), rule::counts_are_positive for a unit of less than
// a tick.
inline std::string html(schedule const& s, html_options const& options = {}) {
  return render_detail::html_page(render_detail::html_data(s, options.name), options);
}

// Compares two schedules: one below the other, device by device, or laid over each other.
std::string html(schedule const& s, schedule const& other, html_options const& options = {});

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/html.ipp>
#endif
