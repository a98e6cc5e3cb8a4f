// Pictures of schedules, as asked for on the command line.
#pragma once

#include "options/effects.hpp"
#include "options/shape_options.hpp"
#include <ashlar/render/palette.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

struct picture_request {
  bool block = false;
  bool stages = false;
  bool transfers = false;
  bool memory = false;
  ashlar::picture_theme theme = ashlar::picture_theme::follow_reader;
  std::string against = {};  // the name of another schedule
};

void add_picture_options(CLI::App& command, picture_request& request);

// Effects of these options in that format.
std::vector<effect> effects_of(picture_request const& request, std::string const& format);

// All throw usage_error for schedules too large to be drawn.
std::string svg_of(chosen_schedule const& chosen, picture_request const& request);

// Pictures of a schedule outside the catalog: it has neither a block nor another to compare with.
// `shares` says which part of the model a stage has, if costs are of another.
std::string svg_of(ashlar::schedule const& s, std::string const& name, time_scale const& scale,
                   picture_request const& request, std::string const& shares = {});
std::string html_of(ashlar::schedule const& s, std::string const& name, time_scale const& scale,
                    picture_request const& request);

// The other schedule is made for `shape`, too.
std::string html_of(chosen_schedule const& chosen, shape_options const& shape,
                    picture_request const& request);

// A page of a text and a picture, or a text in place of the picture.
std::string page_of(std::string const& title, std::string const& text, std::string const& picture);

}  // namespace tool
