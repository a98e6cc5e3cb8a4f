// What pictures of blocks and schedules have in common: rows of boxes over time.
#pragma once

#include <ashlar/block.hpp>
#include <ashlar/metrics.hpp>
#include <ashlar/render/token.hpp>
#include <ashlar/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace ashlar {

// One pass as it is drawn.
struct picture_box {
  pass what;
  tick start = 0;
  tick end = 0;
  int chunk = 0;  // which of its device's stages
};

struct picture {
  std::vector<std::vector<picture_box>> rows;  // by device, in order of their starts
  std::vector<bool> shows;                     // by kind: whether there is such a pass
  int chunk_count = 1;                         // of the device that has most
  bool both_ways = false;                      // whether the two chunks are those of two routes
  tick first = 0;                              // start of the first pass
  tick last = 0;                               // end of the last pass
  tick shortest = 0;                           // pass; 0 if there is none
};

namespace render_detail {

// The smallest of 1, 2, 5, 10, 20, ... that is no less.
inline tick round_step(double least) {
  tick decade = 1;
  for (; decade < max_tick / 10; decade *= 10)
    for (tick factor : {1, 2, 5})
      if (static_cast<double>(factor * decade) >= least) return factor * decade;
  return decade;
}

// By device, then stage: the number of the stage among the device's stages, those of the first route
// first.
inline std::vector<std::vector<int>> chunks_of(placement const& where, picture& drawn) {
  auto const p = static_cast<std::size_t>(where.device_count());
  std::vector<std::vector<int>> chunk(
      p, std::vector<int>(static_cast<std::size_t>(where.stage_count()), -1));
  std::vector<int> count(p, 0);
  for (int route = 0; route < where.route_count(); ++route)
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      auto const d = static_cast<std::size_t>(where.device_of(route, stage));
      int& number = chunk[d][static_cast<std::size_t>(stage)];
      if (number < 0) number = count[d]++;
    }
  drawn.chunk_count = std::max(1, *std::max_element(count.begin(), count.end()));
  drawn.both_ways = where.route_count() == 2 && drawn.chunk_count == 2;
  return chunk;
}

inline void finish(picture& drawn) {
  drawn.shows.assign(pass_kinds, false);
  bool any = false;
  for (auto& row : drawn.rows) {
    std::stable_sort(row.begin(), row.end(),
                     [](picture_box const& a, picture_box const& b) { return a.start < b.start; });
    for (picture_box const& box : row) {
      drawn.first = any ? std::min(drawn.first, box.start) : box.start;
      drawn.last = any ? std::max(drawn.last, box.end) : box.end;
      drawn.shortest = any ? std::min(drawn.shortest, box.end - box.start) : box.end - box.start;
      drawn.shows[static_cast<std::size_t>(box.what.kind)] = true;
      any = true;
    }
  }
}

}  // namespace render_detail

// For a schedule whose passes are all known.
inline picture picture_of(schedule const& s) {
  picture drawn;
  auto const chunk = render_detail::chunks_of(s.where, drawn);
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    auto& row = drawn.rows.emplace_back();
    for (timed_pass const& t : s.order[d])
      row.push_back({t.what, t.start, s.end_of(t), chunk[d][static_cast<std::size_t>(t.what.stage)]});
  }
  render_detail::finish(drawn);
  return drawn;
}

inline picture picture_of(block const& b) {
  picture drawn;
  auto const chunk = render_detail::chunks_of(b.where, drawn);
  drawn.rows.resize(static_cast<std::size_t>(b.where.device_count()));
  for (cell const& c : b.cells) {
    auto const d = static_cast<std::size_t>(b.device_of(c.what));
    drawn.rows[d].push_back({c.what, c.offset, c.offset + b.cost.of(c.what),
                             chunk[d][static_cast<std::size_t>(c.what.stage)]});
  }
  render_detail::finish(drawn);
  return drawn;
}

}  // namespace ashlar
