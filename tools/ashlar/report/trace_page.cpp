// Two timelines as a page: device by device, the plan above the measurement.
#include "command.hpp"
#include "options/limits.hpp"
#include "report/trace_comparison.hpp"
#include <ashlar/program/names.hpp>
#include <ashlar/render/palette.hpp>
#include <ashlar/render/svg_canvas.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

namespace tool {

namespace {

constexpr double page_width = 1400, row_height = 18, device_height = 2 * row_height + 14;

char const* const page_style =
    "body{font:14px system-ui,sans-serif;margin:1.5em;background:#fff;color:#111}"
    "pre{overflow-x:auto}svg{display:block;max-width:100%;height:auto}text{font-size:11px;fill:"
    "currentColor}"
    ".named{stroke:#d00;stroke-width:2.5}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}.named{stroke:#f66}}";

}  // namespace

std::string html_of(trace_comparison const& c) {
  if (2 * c.passes.size() > most_explored)
    throw usage_error(
        fmt::format("a page shows at most {} passes of both timelines, not {}; take --as trace",
                    most_explored, 2 * c.passes.size()));
  auto const longest = static_cast<double>(std::max({c.measured_ns, c.planned_ns, ashlar::tick{1}}));
  double const left = 90, scale = (page_width - left) / longest;
  double const height = device_height * c.planned.device_count;
  std::string drawn;
  for (int d = 0; d < c.planned.device_count; ++d) {
    double const top = device_height * d;
    drawn += fmt::format(
        "<text x=\"0\" y=\"{:.0f}\">{} planned</text><text x=\"0\" y=\"{:.0f}\">measured</text>\n",
        top + 13, d, top + row_height + 13);
  }
  for (ashlar::paired_pass const& p : c.passes) {
    bool const named = std::any_of(c.named.begin(), c.named.end(), [&](auto const& n) {
      return n.what == p.what && n.device == p.device;
    });
    std::string const tip =
        fmt::format("{}: planned {:.3f} ms at {:.3f}, measured {:.3f} ms at {:.3f}", to_string(p.what),
                    static_cast<double>(p.planned_end - p.planned_start) * 1e-6,
                    static_cast<double>(p.planned_start) * 1e-6,
                    static_cast<double>(p.end - p.start) * 1e-6, static_cast<double>(p.start) * 1e-6);
    auto const box = [&](ashlar::tick start, ashlar::tick end, double top, bool marked) {
      drawn += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" "
          "fill=\"{}\"{}><title>{}</title></rect>\n",
          left + scale * static_cast<double>(start), top,
          std::max(0.5, scale * static_cast<double>(end - start)), row_height - 2,
          ashlar::hex(ashlar::colour_of_box(p.what.kind, p.what.micro_batch % 2, 2)),
          marked ? " class=\"named\"" : "", tip);
    };
    double const top = device_height * p.device;
    box(p.planned_start, p.planned_end, top, false);
    box(p.start, p.end, top + row_height, named);
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>Measured and planned</title>\n<style>{}</style>\n</head>\n<body>\n<h1>Measured and "
      "planned</h1>\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"timelines\">\n{}</svg>\n<p>Outlined: the "
      "passes named below.</p>\n<pre>{}</pre>\n</body>\n</html>\n",
      page_style, page_width, height, drawn, ashlar::render_detail::escape_xml(text_of(c)));
}

}  // namespace tool
