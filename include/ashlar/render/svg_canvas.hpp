// The parts of an SVG picture: boxes, text, lines, and the look of them all.
#pragma once

#include <ashlar/render/palette.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ashlar::render_detail {

// For character data and attribute values alike. Control characters have no place in XML.
inline std::string escape_xml(std::string_view raw) {
  std::string safe;
  for (char c : raw) switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  return safe;
}

// Hundredths of a pixel, so that a picture is the same on every machine: 1234 is written 12.34.
class pixels {
 public:
  explicit pixels(double value)
      : hundredths_(static_cast<std::int64_t>(value * 100 + (value < 0 ? -0.5 : 0.5))) {}

  std::string text() const {
    std::int64_t const size = hundredths_ < 0 ? -hundredths_ : hundredths_;
    std::string digits = std::to_string(size / 100);
    if (std::int64_t const rest = size % 100; rest != 0) {
      digits += rest < 10 ? ".0" : ".";
      digits += std::to_string(rest);
      if (digits.back() == '0') digits.pop_back();
    }
    return hundredths_ < 0 ? "-" + digits : digits;
  }

 private:
  std::int64_t hundredths_;
};

inline std::string px(double value) { return pixels(value).text(); }

// The outline of a box, to be joined to others in one path.
inline std::string outline(double x, double y, double width, double height) {
  return "M" + px(x) + " " + px(y) + "h" + px(width) + "v" + px(height) + "h" + px(-width) + "z";
}

class svg_canvas {
 public:
  // A box with a tooltip, where there is one. `look` is a class of the style sheet.
  void box(double x, double y, double width, double height, std::string_view look,
           std::string_view tip = "") {
    body_ += "<rect class=\"" + std::string(look) + "\" x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\""
             + px(width) + "\" height=\"" + px(height) + "\"";
    body_ += tip.empty() ? "/>\n" : "><title>" + escape_xml(tip) + "</title></rect>\n";
  }
  // In a colour of its own.
  void box(double x, double y, double width, double height, rgb colour, std::string_view tip) {
    body_ += "<rect fill=\"" + hex(colour) + "\" x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\""
             + px(width) + "\" height=\"" + px(height) + "\"><title>" + escape_xml(tip)
             + "</title></rect>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string_view look) {
    path("M" + px(x1) + " " + px(y1) + "L" + px(x2) + " " + px(y2), look);
  }
  // Nothing where there is no data.
  void path(std::string_view data, std::string_view look) {
    if (data.empty()) return;
    body_ += "<path class=\"" + std::string(look) + "\" d=\"" + std::string(data) + "\"/>\n";
  }
  // Looks: `e` ends at x, `m` has its middle there; without one it begins there.
  void text(double x, double y, std::string_view words, std::string_view look = "") {
    body_ += "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\"";
    if (!look.empty()) body_ += " class=\"" + std::string(look) + "\"";
    body_ += ">" + escape_xml(words) + "</text>\n";
  }

  // On top of what is there.
  void add(svg_canvas const& layer) { body_ += layer.body_; }

  // `more` is added to the style sheet, `definitions` are elements that looks refer to.
  std::string finish(double width, double height, std::string_view title,
                     picture_theme theme = picture_theme::follow_reader, std::string const& more = "",
                     std::string const& definitions = "") const {
    std::string const w = px(width), h = px(height);
    std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h
                       + "\" viewBox=\"0 0 " + w + " " + h + "\" role=\"img\">\n";
    if (!title.empty()) text += "<title>" + escape_xml(title) + "</title>\n";
    text += "<style>" + std::string(theme == picture_theme::dark ? dark : light) + fixed + more;
    if (theme == picture_theme::follow_reader)
      text += "@media(prefers-color-scheme:dark){" + std::string(dark) + "}";
    text += "</style>\n";
    if (!definitions.empty()) text += "<defs>" + definitions + "</defs>\n";
    return text + "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n" + body_ + "</svg>\n";
  }

 private:
  // What depends on the background; the background itself is painted, so that a viewer's own does not
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
