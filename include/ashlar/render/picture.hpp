// The common content of pictures of blocks and schedules: rows of boxes over time.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <string>
#include <vector>

namespace ashlar {

// The part of a cell that a pass fills. A forward and a backward that run together share a cell: the
// forward has its upper half.
enum class cell_part : unsigned char { whole, upper, lower };

// One pass in a picture.
struct picture_box {
  pass what;
  tick start = 0;
  tick end = 0;
  int chunk = 0;  // number among its device's stages
  int shade = 0;  // number among its device's stages on its route
  int route = 0;
  bool opens_pair = false;
  cell_part part = cell_part::whole;
};

// The content of a picture: boxes, and the number of colours and rows they need.
struct picture {
  dynamic_array<dynamic_array<picture_box>> rows;  // by device, in order of their starts
  bool shows[pass_kinds] = {};                     // by kind: whether there is such a pass
  int chunk_count = 1;                             // most on any device
  int shade_count = 1;                             // most on any device and route
  int route_count = 1;
  bool pairs = false;      // whether any passes share a cell
  bool both_ways = false;  // whether the two chunks belong to two routes
  tick first = 0;          // start of the first pass
  tick last = 0;           // end of the last pass
  tick shortest = 0;       // pass; 0 if there is none
};

namespace render_detail {

// The label of a box among others of its colour: its micro-batch; for work job and part, as in 3.0.
inline std::string number_of(pass what) {
  std::string const last = std::to_string(what.micro_batch);
  return is_part(what) ? std::to_string(what.stage) + "." + last : last;
}

// The smallest of 1, 2, 5, 10, 20, ... that is at least `least`.
tick round_step(double least);

// By device, then stage: the stage's number among the device's stages, those of the first route first.
std::vector<std::vector<int>> chunk_numbers(placement const& where, picture& drawn);

// Splits a cell between both passes of a pair.
void pair_up(dynamic_array<picture_box>& row, picture& drawn);

void finish(picture& drawn);

}  // namespace render_detail

// Requires a schedule of known passes.
picture picture_of(schedule const& s);

picture picture_of(block const& b);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/picture.ipp>
#endif
