// Definitions of text.hpp.
#pragma once

#include <ashlar/block/form.hpp>
#include <ashlar/block/measures.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/text.hpp>

#include <algorithm>

namespace ashlar::render_detail {

ASHLAR_INLINE text_scale scale_of(picture const& drawn, std::size_t label, std::size_t room) {
  if (drawn.shortest == 0) return {};
  double shortest = static_cast<double>(drawn.shortest);
  for (auto const& row : drawn.rows)  // a pair in one line has two halves
    for (picture_box const& box : row)
      if (box.part != cell_part::whole && box.end > box.start)
        shortest = min_of(shortest, static_cast<double>(box.end - box.start) / 2);
  double const columns =
      static_cast<double>(drawn.last - drawn.first) / shortest;  // one for the shortest pass
  std::size_t longest_row = 1;
  for (auto const& row : drawn.rows) longest_row = max_of(longest_row, row.size());
  bool const alike = columns <= 16.0 * static_cast<double>(longest_row);
  auto const wide = static_cast<double>(label + 1), available = static_cast<double>(room);
  if (alike && (room == 0 || columns * wide <= available)) return {.columns_a_tick = wide / shortest};
  if (alike && columns * (wide - 1) <= available) return {.columns_a_tick = (wide - 1) / shortest};
  if (room > 0 && columns <= available) return {.columns_a_tick = 1 / shortest, .numbers = false};
  double const span = static_cast<double>(drawn.last - drawn.first);
  if (alike)
    return {.columns_a_tick = available / span,
            .numbers = false,
            .whole = static_cast<std::size_t>(columns * wide)};
  return {.columns_a_tick = (room == 0 ? 200.0 : available) / span};
}

// Dark boxes for even chunks, light ones for odd: white or black on colours of the 256-colour palette.
ASHLAR_INLINE char const* colour_of(pass_kind kind, bool light) {
  switch (kind) {
    case pass_kind::forward:
      return light ? "\x1b[30;48;5;117m" : "\x1b[97;48;5;25m";
    case pass_kind::recompute:
      return light ? "\x1b[30;48;5;183m" : "\x1b[97;48;5;97m";
    case pass_kind::backward:
      return light ? "\x1b[30;48;5;216m" : "\x1b[97;48;5;130m";
    case pass_kind::backward_input:
      return light ? "\x1b[30;48;5;222m" : "\x1b[30;48;5;214m";
    case pass_kind::backward_weight:
      return light ? "\x1b[30;48;5;115m" : "\x1b[97;48;5;29m";
    case pass_kind::work:
      break;
  }
  return "\x1b[30;48;5;250m";
}

// With two chunks per device, the second has small letters; with more, boxes carry their stage.
ASHLAR_INLINE std::string label_of(picture_box const& box, int chunk_count) {
  if (chunk_count > 2) return to_string(box.what);
  char const letter = letter_of(box.what.kind);
  bool const small = box.chunk == 1;
  return static_cast<char>(small ? letter - 'A' + 'a' : letter) + number_of(box.what);
}

// `text` in exactly `columns`. The last column stays free between boxes if there is room.
ASHLAR_INLINE std::string box_text(std::string text, std::size_t columns, bool numbers) {
  if (!numbers || columns < text.size()) {
    std::size_t letter = 0;
    while (text[letter] <= '9') ++letter;
    text = std::string(1, text[letter]);
  }
  std::size_t const inside = columns > text.size() ? columns - 1 : columns;
  if (text.size() < inside) text.append(inside - text.size(), '-');
  text.append(columns - text.size(), ' ');
  return text;
}

ASHLAR_INLINE text_picture draw_rows(picture const& drawn, text_scale const& scale, bool colour) {
  text_picture out;
  std::size_t const digits = std::to_string(drawn.rows.size() - 1).size();
  for (std::size_t d = 0; d < drawn.rows.size(); ++d) {
    std::string const name = std::to_string(d);
    out.rows += "device " + std::string(digits - name.size(), ' ') + name + " |";
    std::string line;
    std::size_t column = 0;
    for (picture_box const& box : drawn.rows[d]) {
      std::size_t begin = scale.column(box.start, drawn.first), end = scale.column(box.end, drawn.first);
      if (box.part == cell_part::upper) end = begin + (end - begin) / 2;
      if (box.part == cell_part::lower) begin += (end - begin) / 2;
      if (scale.whole > 0) {
        end = max_of(end, begin + 1);
        begin = max_of(begin, column);
      }
      if (begin >= end || begin < column) {
        ++out.hidden;
        continue;
      }
      line.append(begin - column, ' ');
      std::string text = box_text(label_of(box, drawn.chunk_count), end - begin, scale.numbers);
      if (box.part == cell_part::upper && text.back() == ' ') text.back() = '+';
      std::size_t const inked = text.find_last_not_of(' ') + 1;
      if (colour)
        line += colour_of(box.what.kind, box.chunk % 2 == 1) + text.substr(0, inked) + "\x1b[0m"
                + text.substr(inked);
      else
        line += text;
      column = end;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.rows += line + "\n";
  }
  return out;
}

ASHLAR_INLINE std::string ruler(picture const& drawn, text_scale const& scale, std::size_t margin,
                                std::size_t room, tick unit) {
  std::size_t const digits = std::to_string(drawn.last / unit).size() + 2;
  tick const step = saturating_product(
      unit,
      round_step(static_cast<double>(digits) / (scale.columns_a_tick * static_cast<double>(unit))));
  std::string line;
  for (tick t = -floor_quotient(-drawn.first, unit) * unit; t <= drawn.last; t += step) {
    std::size_t const column = scale.column(t, drawn.first);
    std::string const number = std::to_string(t / unit);
    if (room > 0 && column + number.size() > room) break;
    line.append(column - line.size(), ' ');
    line += number;
  }
  return std::string(margin, ' ') + line + "\n";
}

ASHLAR_INLINE std::string legend(picture const& drawn, bool colour, std::size_t width) {
  std::string text;
  std::size_t used = 0;
  // Adds words, on a line of their own if this one is full. Escapes take no columns.
  auto const add = [&](std::string const& words, std::size_t columns) {
    if (used > 0 && width > 0 && used + 3 + columns > width) {
      text += "\n";
      used = 0;
    }
    text += (used == 0 ? "" : "   ") + words;
    used += (used == 0 ? 0 : 3) + columns;
  };
  auto const add_plain = [&](std::string const& words) { add(words, words.size()); };
  for (int k = 0; k < pass_kinds; ++k) {
    if (!nth(drawn.shows, k)) continue;
    auto const kind = static_cast<pass_kind>(k);
    std::string const letter(1, letter_of(kind)), name = std::string(" ") + name_of(kind);
    add((colour ? colour_of(kind, false) + letter + "\x1b[0m" : letter) + name, 1 + name.size());
  }
  if (drawn.chunk_count == 2)
    add_plain(drawn.both_ways ? "small letters: the second route"
                              : "small letters: the device's second stage");
  if (drawn.pairs) add_plain("+: overlapped with the next");
  return text + "\n";
}

ASHLAR_INLINE std::string text_of(picture const& drawn, text_options options) {
  std::size_t label = 1;
  for (auto const& row : drawn.rows)
    for (picture_box const& box : row) label = max_of(label, label_of(box, drawn.chunk_count).size());
  std::size_t const margin = std::to_string(drawn.rows.size() - 1).size() + 9;
  constexpr int widest = 1 << 16;  // keeps lines readable for a schedule of any length
  auto const width = static_cast<std::size_t>(std::clamp(options.width, 0, widest));
  std::size_t const room = width == 0 ? 0 : max_of<std::size_t>(width > margin ? width - margin : 0, 10);
  text_scale const scale = scale_of(drawn, label, room);
  text_picture const out = draw_rows(drawn, scale, options.colour);
  std::string text = ruler(drawn, scale, margin, room, std::clamp<tick>(options.unit, 1, max_tick))
                     + out.rows + legend(drawn, options.colour, width);
  if (scale.whole > 0)
    text += "compressed to " + std::to_string(width)
            + " columns (passes without a letter: " + std::to_string(out.hidden)
            + "); width 0 draws all, in " + std::to_string(margin + scale.whole) + "\n";
  else if (!scale.numbers)
    text += "micro-batch numbers are left out to fit " + std::to_string(width) + " columns\n";
  else if (out.hidden > 0)
    text += std::to_string(out.hidden) + " passes are shorter than a column and not shown\n";
  return text;
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE std::string text(block const& b, text_options options) {
  must_have_form(b);
  std::string drawn = render_detail::text_of(picture_of(b), options);
  drawn += "interval " + std::to_string(b.interval) + " ticks\n";
  for (int k = 0; k < b.micro_batch_count(); ++k) {
    for (int stage = 0; stage < b.where.stage_count(); ++stage) {
      tick const life = lifespan(b, stage_id{stage}, micro_batch_id{k});
      drawn += "stage " + std::to_string(stage);
      if (b.micro_batch_count() > 1) drawn += ", micro-batch " + std::to_string(k);
      drawn += " on device " + std::to_string(b.device_of({pass_kind::forward, stage, k}))
               + ": lifespan " + std::to_string(life) + ", at most "
               + std::to_string(most_held(life, b.interval)) + " activations held\n";
    }
  }
  return drawn;
}

}  // namespace ashlar
