// Definitions of picture.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/render/picture.hpp>
#include <ashlar/schedule/tables.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::render_detail {

ASHLAR_INLINE tick round_step(double least) {
  tick decade = 1;
  for (; decade < max_tick / 10; decade *= 10)
    for (tick factor : {1, 2, 5})
      if (static_cast<double>(factor * decade) >= least) return factor * decade;
  return decade;
}

// By route, then stage: the number of the stage among its device's stages on that route.
ASHLAR_INLINE std::vector<std::vector<int>> shades_of(placement const& where, picture& drawn) {
  std::vector<std::vector<int>> shade;
  drawn.route_count = max_of(1, where.route_count());
  for (int route = 0; route < where.route_count(); ++route) {
    std::vector<int> count(static_cast<std::size_t>(where.device_count()), 0);
    std::vector<int> numbers;
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      numbers.push_back(nth(count, where.device_of(route, stage))++);
      drawn.shade_count = max_of(drawn.shade_count, numbers.back() + 1);
    }
    shade.push_back(std::move(numbers));
  }
  return shade;
}

ASHLAR_INLINE std::vector<std::vector<int>> chunk_numbers(placement const& where, picture& drawn) {
  auto const p = static_cast<std::size_t>(where.device_count());
  std::vector<std::vector<int>> chunk(
      p, std::vector<int>(static_cast<std::size_t>(where.stage_count()), -1));
  std::vector<int> count(p, 0);
  for (int route = 0; route < where.route_count(); ++route)
    for (int stage = 0; stage < where.stage_count(); ++stage) {
      auto const d = static_cast<std::size_t>(where.device_of(route, stage));
      int& number = nth(chunk[d], stage);
      if (number < 0) number = count[d]++;
    }
  for (int chunks : count) drawn.chunk_count = max_of(drawn.chunk_count, chunks);
  drawn.both_ways = where.route_count() == 2 && drawn.chunk_count == 2;
  return chunk;
}

ASHLAR_INLINE void pair_up(dynamic_array<picture_box>& row, picture& drawn) {
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    picture_box &a = row[i], &b = row[i + 1];
    if (!a.opens_pair) continue;
    a.part = cell_part::upper;
    b.part = cell_part::lower;
    drawn.pairs = true;
    ++i;
  }
}

ASHLAR_INLINE void finish(picture& drawn) {
  bool any = false;
  for (auto& row : drawn.rows) {
    merge_sort(row, [](picture_box const& a, picture_box const& b) { return a.start < b.start; });
    pair_up(row, drawn);
    for (picture_box const& box : row) {
      drawn.first = any ? min_of(drawn.first, box.start) : box.start;
      drawn.last = any ? max_of(drawn.last, box.end) : box.end;
      if (tick const time = box.end - box.start; time > 0)
        drawn.shortest = drawn.shortest > 0 ? min_of(drawn.shortest, time) : time;
      nth(drawn.shows, box.what.kind) = true;
      any = true;
    }
  }
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE picture picture_of(schedule const& s) {
  must_have_form(s);
  picture drawn;
  auto const chunk = render_detail::chunk_numbers(s.where, drawn);
  auto const shade = render_detail::shades_of(s.where, drawn);
  drawn.rows = dynamic_array<dynamic_array<picture_box>>(s.order.size());
  for (std::size_t d = 0; d < s.order.size(); ++d) {
    auto& row = drawn.rows[d];
    for (timed_pass const t : each_pass(s.order[d])) {
      if (is_part(t.what)) {
        row.push_back({t.what, t.start, s.end_of(t, static_cast<int>(d))});
        continue;
      }
      auto const stage = static_cast<std::size_t>(t.what.stage);
      int const route = nth(s.route, t.what.micro_batch);
      bool const opens_pair = t.slot->is_pair() && t.what.kind == pass_kind::forward;
      row.push_back({t.what, t.start, s.end_of(t, static_cast<int>(d)), chunk[d][stage],
                     nth(shade, route)[stage], route, opens_pair});
    }
  }
  render_detail::finish(drawn);
  return drawn;
}

ASHLAR_INLINE picture picture_of(block const& b) {
  must_have_form(b);
  picture drawn;
  auto const chunk = render_detail::chunk_numbers(b.where, drawn);
  auto const shade = render_detail::shades_of(b.where, drawn);
  drawn.rows =
      dynamic_array<dynamic_array<picture_box>>(static_cast<std::size_t>(b.where.device_count()));
  for (cell const& c : b.cells) {
    auto const d = static_cast<std::size_t>(b.device_of(c.what));
    auto const stage = static_cast<std::size_t>(c.what.stage);
    int const route = nth(b.route, c.what.micro_batch);
    drawn.rows[d].push_back({c.what, c.offset, c.offset + b.length_of(c.what), chunk[d][stage],
                             nth(shade, route)[stage], route, false});
  }
  render_detail::finish(drawn);
  return drawn;
}

}  // namespace ashlar
