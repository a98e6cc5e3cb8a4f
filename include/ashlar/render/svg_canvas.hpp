// The parts of an SVG picture: colours, boxes, text, a frame that reads well on light and dark pages.
#pragma once

#include <ashlar/pass.hpp>
#include <ashlar/render/token.hpp>

#include <algorithm>
#include <array>
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

using rgb = std::array<int, 3>;

// After Okabe and Ito: told apart with any colour vision. The first chunk is dark, later ones ever
// lighter.
inline rgb colour_of_box(pass_kind kind, int chunk, int chunk_count) {
  static constexpr rgb dark[pass_kinds] = {{0, 91, 150},  {128, 70, 138}, {166, 64, 10},
                                           {196, 122, 0}, {0, 112, 80},   {96, 96, 96}};
  static constexpr rgb light[pass_kinds] = {{160, 212, 245}, {226, 190, 230}, {247, 190, 158},
                                            {255, 216, 128}, {150, 222, 196}, {208, 208, 208}};
  auto const k = static_cast<std::size_t>(kind);
  rgb mixed{};
  for (std::size_t i = 0; i < 3; ++i)
    mixed[i] = chunk_count < 2 ? dark[k][i]
                               : dark[k][i] + (light[k][i] - dark[k][i]) * chunk / (chunk_count - 1);
  return mixed;
}

inline std::string hex(rgb colour) {
  std::string text = "#";
  for (int part : colour) {
    text += "0123456789abcdef"[part / 16];
    text += "0123456789abcdef"[part % 16];
  }
  return text;
}

// White on dark boxes, black on light ones.
inline char const* ink_on(rgb colour) {
  return 299 * colour[0] + 587 * colour[1] + 114 * colour[2] < 140 * 1000 ? "#fff" : "#000";
}

class svg_canvas {
 public:
  // `more` goes into an element as it is.
  void box(double x, double y, double width, double height, rgb colour, std::string_view title) {
    body_ += "<rect x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(width) + "\" height=\""
             + px(height) + "\" fill=\"" + hex(colour) + "\"><title>" + escape_xml(title)
             + "</title></rect>\n";
  }
  void area(double x, double y, double width, double height, char const* look) {
    body_ += "<rect class=\"" + std::string(look) + "\" x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\""
             + px(width) + "\" height=\"" + px(height) + "\"/>\n";
  }
  void line(double x1, double y1, double x2, double y2, char const* look) {
    body_ += "<path class=\"" + std::string(look) + "\" d=\"M" + px(x1) + " " + px(y1) + "L" + px(x2)
             + " " + px(y2) + "\"/>\n";
  }
  // Classes: `e` ends at x, `m` has its middle there; without one it begins there.
  void text(double x, double y, std::string_view words, std::string_view look = "",
            std::string_view ink = "") {
    body_ += "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\"";
    if (!look.empty()) body_ += " class=\"" + std::string(look) + "\"";
    if (!ink.empty()) body_ += " style=\"fill:" + std::string(ink) + "\"";
    body_ += ">" + escape_xml(words) + "</text>\n";
  }

  std::string finish(double width, double height, std::string_view title) const {
    std::string const w = px(width), h = px(height);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h
           + "\" viewBox=\"0 0 " + w + " " + h + "\" role=\"img\">\n<title>" + escape_xml(title)
           + "</title>\n<style>" + style + "</style>\n" + body_ + "</svg>\n";
  }

 private:
  // Boxes bring their own background; everything else takes the page's. Where the page is dark, so are
  // we.
  static constexpr char const* style =
      "text{font:11px ui-sans-serif,Helvetica,Arial,sans-serif;fill:#222}"
      ".m{text-anchor:middle}.e{text-anchor:end}.s{font-size:8.5px}"
      ".idle{fill:#8a94a0;fill-opacity:.18}.rule{stroke:#8a94a0;stroke-width:1;fill:none}"
      ".grid{stroke:#8a94a0;stroke-opacity:.45;stroke-width:1;fill:none;stroke-dasharray:2 3}"
      "@media(prefers-color-scheme:dark){text{fill:#ddd}}";

  std::string body_;
};

}  // namespace ashlar::render_detail
