// Definitions of svg_canvas.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/render/svg_canvas.hpp>
#include <ashlar/render/utf8.hpp>

namespace ashlar::render_detail {

ASHLAR_INLINE std::string escape_xml(std::string_view raw) {
  std::string safe;
  for (char c : valid_utf8(raw)) switch (c) {
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

ASHLAR_INLINE std::int64_t pixels::hundredths_of(double value) {
  constexpr double most = 1e15;
  if (!(value > -most)) return value <= -most ? static_cast<std::int64_t>(-most) * 100 : 0;
  if (value > most) return static_cast<std::int64_t>(most) * 100;
  return static_cast<std::int64_t>(value * 100 + (value < 0 ? -0.5 : 0.5));
}

ASHLAR_INLINE std::string pixels::text() const {
  std::int64_t const size = hundredths_ < 0 ? -hundredths_ : hundredths_;
  std::string digits = std::to_string(size / 100);
  if (std::int64_t const rest = size % 100; rest != 0) {
    digits += rest < 10 ? ".0" : ".";
    digits += std::to_string(rest);
    if (digits.back() == '0') digits.pop_back();
  }
  return hundredths_ < 0 ? "-" + digits : digits;
}

ASHLAR_INLINE void svg_canvas::box(double x, double y, double width, double height,
                                   std::string_view look, std::string_view tip) {
  body_ += "<rect class=\"" + std::string(look) + "\" x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\""
           + px(width) + "\" height=\"" + px(height) + "\"";
  body_ += tip.empty() ? "/>\n" : "><title>" + escape_xml(tip) + "</title></rect>\n";
}

ASHLAR_INLINE void svg_canvas::box(double x, double y, double width, double height, rgb colour,
                                   std::string_view tip) {
  body_ += "<rect fill=\"" + hex(colour) + "\" x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\""
           + px(width) + "\" height=\"" + px(height) + "\"><title>" + escape_xml(tip)
           + "</title></rect>\n";
}

ASHLAR_INLINE void svg_canvas::text(double x, double y, std::string_view words, std::string_view look) {
  body_ += "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\"";
  if (!look.empty()) body_ += " class=\"" + std::string(look) + "\"";
  body_ += ">" + escape_xml(words) + "</text>\n";
}

ASHLAR_INLINE std::string svg_canvas::finish(double width, double height, std::string_view title,
                                             picture_theme theme, std::string const& more,
                                             std::string const& definitions) const {
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

}  // namespace ashlar::render_detail
