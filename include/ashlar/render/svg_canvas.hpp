// Draws the parts of an SVG picture: boxes, text, lines, and their style.
#pragma once

#include <ashlar/render/palette.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ashlar::render_detail {

// Escapes character data and attribute values. Replaces control characters and invalid UTF-8, which XML
// does not allow.
std::string escape_xml(std::string_view raw);

// Hundredths of a pixel, so that a picture is the same on every machine: 1234 is written 12.34. NaN
// becomes 0, and sizes are limited to 1e15.
class pixels {
 public:
  // Rounds to hundredths.
  explicit pixels(double value) : hundredths_(hundredths_of(value)) {}

  std::string text() const;

 private:
  static std::int64_t hundredths_of(double value);

  std::int64_t hundredths_;
};

inline std::string px(double value) { return pixels(value).text(); }

// The outline of a box, to be joined to others in one path.
inline std::string outline(double x, double y, double width, double height) {
  return "M" + px(x) + " " + px(y) + "h" + px(width) + "v" + px(height) + "h" + px(-width) + "z";
}

class svg_canvas {
 public:
  // Draws a box, with a tooltip unless `tip` is empty. `look` is a class of the style sheet.
  void box(double x, double y, double width, double height, std::string_view look,
           std::string_view tip = "");
  // Draws a box in a colour of its own.
  void box(double x, double y, double width, double height, rgb colour, std::string_view tip);
  void line(double x1, double y1, double x2, double y2, std::string_view look) {
    path("M" + px(x1) + " " + px(y1) + "L" + px(x2) + " " + px(y2), look);
  }
  // Draws a path; nothing if there is no data.
  void path(std::string_view data, std::string_view look) {
    if (data.empty()) return;
    body_ += "<path class=\"" + std::string(look) + "\" d=\"" + std::string(data) + "\"/>\n";
  }
  // Looks: `e` ends at x, `m` has its middle there; without one the text begins there.
  void text(double x, double y, std::string_view words, std::string_view look = "");

  // Draws a layer on top.
  void add(svg_canvas const& layer) { body_ += layer.body_; }

  // Returns the picture. `more` is added to the style sheet, `definitions` are elements that looks refer
  // to.
  std::string finish(double width, double height, std::string_view title,
                     picture_theme theme = picture_theme::follow_reader, std::string const& more = "",
                     std::string const& definitions = "") const;

 private:
  // Styles that depend on the background; the background itself is painted, so a viewer's own does not
  // matter.
  static constexpr char const* light =
      ".page{fill:#fff}text{fill:#1f2328}.idle{fill:#e9ecef}.rule,.grid{stroke:#6e7781}"
      ".go{stroke:#0b3d91}.back{stroke:#8a1c00}.pair{stroke:#1f2328}.held{fill:#c9d1da;stroke:#57606a}";
  static constexpr char const* dark =
      ".page{fill:#0d1117}text{fill:#e6edf3}.idle{fill:#21262d}.rule,.grid{stroke:#8b949e}"
      ".go{stroke:#a5c8ff}.back{stroke:#ffb08a}.pair{stroke:#e6edf3}.held{fill:#373e47;stroke:#9da7b3}";
  static constexpr char const* fixed =
      "text{font:11px Helvetica,Arial,'Liberation Sans',sans-serif}"
      ".m{text-anchor:middle}.e{text-anchor:end}.s{font-size:8.5px}.t{font-size:7.5px}"
      ".rule,.grid,.go,.back,.pair{fill:none;stroke-width:1}"
      ".grid{stroke-dasharray:2 3;stroke-opacity:.6}"
      ".go,.back{stroke-opacity:.8;stroke-linecap:round}.held{stroke-width:.8}"
      ".over{pointer-events:none}";

  std::string body_;
};

}  // namespace ashlar::render_detail

#ifndef ASHLAR_COMPILED
#include <ashlar/render/svg_canvas.ipp>
#endif
