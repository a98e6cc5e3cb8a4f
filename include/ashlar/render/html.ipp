// Definitions of html.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/model/pass_table.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/activations.hpp>
#include <ashlar/render/html.hpp>
#include <ashlar/render/html_acting.hpp>
#include <ashlar/render/html_body.hpp>
#include <ashlar/render/html_dark.hpp>
#include <ashlar/render/html_drawing.hpp>
#include <ashlar/render/html_light.hpp>
#include <ashlar/render/html_style.hpp>
#include <ashlar/render/json_text.hpp>
#include <ashlar/render/known_bound.hpp>
#include <ashlar/render/needs.hpp>
#include <ashlar/render/picture.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace ashlar::render_detail {

template <class List, class Words>
std::string json_array(List const& list, Words words) {
  std::string text;
  for (auto const& item : list) text += (text.empty() ? "" : ",") + words(item);
  return "[" + text + "]";
}

// The page may fetch nothing; it contains everything it needs.
inline constexpr char const* html_policy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n";

// Colours of every kind in every shade, and of numbers on them.
ASHLAR_INLINE std::string html_colours(int shades) {
  std::string text;
  for (int k = 0; k < pass_kinds; ++k) {
    text += k == 0 ? "[" : "],[";
    for (int i = 0; i < shades; ++i) {
      rgb const colour = colour_of_box(static_cast<pass_kind>(k), i, shades);
      text += std::string(i == 0 ? "" : ",") + "{\"fill\":\"" + hex(colour) + "\",\"ink\":\""
              + (wants_white_ink(colour) ? "#fff" : "#000") + "\"}";
    }
  }
  return "[" + text + "]]";
}

ASHLAR_INLINE std::string html_data(schedule const& s, std::string_view name) {
  picture const drawn = picture_of(s);
  // A row of the picture has a device's passes in order of their starts; the schedule has its own order.
  pass_table<picture_box> box(s.stage_count(), s.micro_batch_count(), s.work.view(), {});
  for (auto const& row : drawn.rows)
    for (picture_box const& b : row) box.at(b.what) = b;
  std::string passes;
  std::vector<needing_pass> const all = needs_of(s);
  std::size_t number = 0;
  for (int d = 0; d < s.device_count(); ++d) {
    passes += d == 0 ? "\n[" : "],\n[";
    tick time = 0;
    for (bool first = true; number < all.size() && all[number].device == d; ++number, first = false) {
      needing_pass const& p = all[number];
      picture_box const& b = box.at(p.what);
      passes += first ? "[" : ",[";
      passes += std::to_string(static_cast<int>(p.what.kind)) + "," + std::to_string(p.what.stage) + ","
                + std::to_string(p.what.micro_batch) + "," + std::to_string(b.start - time) + ","
                + std::to_string(b.end - b.start) + "," + json_array(p.needs, [&](std::size_t n) {
                    return std::to_string(static_cast<long long>(number) - static_cast<long long>(n));
                  });
      int const looks[] = {static_cast<int>(b.part), b.shade, b.route};
      std::size_t shown = std::size(looks);
      while (shown > 0 && looks[shown - 1] == 0) --shown;
      for (std::size_t i = 0; i < shown; ++i) passes += "," + std::to_string(looks[i]);
      passes += "]";
      time = b.end;
    }
  }
  if (s.device_count() > 0) passes += "]";
  std::optional<bound> const least = known_bound(s);
  auto const held = held_activations(s);
  int peak = 0;
  for (auto const& steps : held)
    for (held_step const& step : steps) peak = std::max(peak, step.held);
  return "{\"name\":\"" + escape_json(name) + "\",\"devices\":" + std::to_string(s.device_count())
         + ",\"microBatches\":" + std::to_string(s.micro_batch_count())
         + ",\"first\":" + std::to_string(drawn.first) + ",\"makespan\":" + std::to_string(makespan(s))
         + ",\"bound\":" + (least ? std::to_string(least->makespan) : "null")
         + ",\"bubble\":" + std::to_string(std::llround(10'000 * bubble_rate(s)))
         + ",\"peak\":" + std::to_string(peak) + ",\"shades\":" + std::to_string(drawn.shade_count)
         + ",\"routes\":" + std::to_string(drawn.route_count)
         + ",\"colours\":" + html_colours(drawn.shade_count) + ",\"held\":"
         + json_array(held,
                      [](auto const& steps) {
                        return json_array(steps, [](held_step const& step) {
                          return "[" + std::to_string(step.time) + "," + std::to_string(step.held) + "]";
                        });
                      })
         + ",\"passes\":[" + passes + "]}";
}

ASHLAR_INLINE std::string html_page(std::string const& schedules, html_options const& options) {
  if (options.unit.ticks < 1)
    refuse({.broken = rule::counts_are_positive, .number = options.unit.ticks});
  std::string kinds;
  for (int k = 0; k < pass_kinds; ++k) {
    auto const kind = static_cast<pass_kind>(k);
    kinds += std::string(k == 0 ? "" : ",") + "{\"letter\":\"" + letter_of(kind) + "\",\"name\":\""
             + name_of(kind) + "\"}";
  }
  std::string const title = escape_xml(options.title);
  std::string style = options.theme == picture_theme::dark ? html_dark : html_light;
  if (options.theme == picture_theme::follow_reader)
    style += "@media(prefers-color-scheme:dark){" + std::string(html_dark) + "}";
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         + std::string(html_policy) + "<title>" + title + "</title>\n<style>" + style + html_style
         + "</style>\n</head>\n<body>\n<h1>" + title + "</h1>" + html_body
         + "<script type=\"application/json\" id=\"data\">{\"unit\":{\"ticks\":"
         + std::to_string(options.unit.ticks) + ",\"name\":\"" + escape_json(options.unit.name)
         + "\"},\"kinds\":[" + kinds + "],\"schedules\":[" + schedules + "]}</script>\n<script>"
         + html_drawing + html_acting + "</script>\n</body>\n</html>\n";
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE std::string html(schedule const& s, schedule const& other, html_options const& options) {
  return render_detail::html_page(render_detail::html_data(s, options.name) + ",\n"
                                      + render_detail::html_data(other, options.other_name),
                                  options);
}

}  // namespace ashlar
