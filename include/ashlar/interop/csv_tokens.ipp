// Definitions of csv_tokens.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/function_ref.hpp>
#include <ashlar/interop/csv_tokens.hpp>

#include <algorithm>
#include <utility>

namespace ashlar::csv_detail {

inline constexpr int largest_number = 999'999'999;

ASHLAR_INLINE bool is_digit(char c) { return c >= '0' && c <= '9'; }

ASHLAR_INLINE bool is_of_word(char c) { return (c >= 'A' && c <= 'Z') || c == '_'; }

ASHLAR_INLINE void for_each_token(csv_tokens& tokens,
                                  function_ref<void(std::size_t, csv_token&)> visit) {
  for (std::size_t d = 0; d < tokens.lines.size(); ++d)
    for (csv_token& t : tokens.lines[d]) visit(d, t);
}

}  // namespace ashlar::csv_detail

namespace ashlar {

ASHLAR_INLINE csv_token csv_token::awaited() const {
  csv_token started = *this;
  started.word = find_csv_word(word->awaited);
  return started;
}

}  // namespace ashlar

namespace ashlar::csv_detail {

ASHLAR_INLINE int read_number(std::string_view& rest) {
  std::size_t length = 0;
  while (length < rest.size() && is_digit(rest[length])) ++length;
  std::string_view const digits = rest.substr(0, length);
  rest.remove_prefix(length);
  if (digits.empty()) return -1;
  if (digits.size() > 1 && digits[0] == '0') return -3;
  if (digits.size() > 9) return -2;
  int number = 0;
  for (char c : digits) number = 10 * number + (c - '0');
  return number;
}

// Returns the error of the token; or nothing, and sets `token`.
ASHLAR_INLINE std::string read_token(std::string_view cell, csv_token& token) {
  std::string_view rest = cell;
  int const stage = read_number(rest);
  std::size_t length = 0;
  while (length < rest.size() && is_of_word(rest[length])) ++length;
  csv_word const* const word = find_csv_word(rest.substr(0, length));
  rest.remove_prefix(length);
  bool const ends = rest.empty();
  int const micro_batch = read_number(rest);
  if (stage == -1 || word == nullptr || !rest.empty() || (word->of_micro_batch && micro_batch == -1))
    return "unknown token: a token must be stage, one of F I W B R, micro-batch, as in 2F0, or stage "
           "and an action, as in 2SEND_F0 and 2UNSHARD";
  if (!word->of_micro_batch && !ends)
    return std::string(word->name) + " must not have a micro-batch: it is for the whole stage";
  if (stage == -2 || micro_batch == -2)
    return "stages and micro-batches must be no more than " + std::to_string(largest_number);
  if (stage == -3 || micro_batch == -3) return "numbers must not begin with a needless 0";
  token.word = word;
  token.what = {word->kind.value_or(pass_kind::forward), stage, std::max(micro_batch, 0)};
  return "";
}

// Removes quotes around a cell, then blanks around its content: Python's csv module strips the former,
// PyTorch's runtime the latter. `column` moves along.
ASHLAR_INLINE std::string_view unwrapped(std::string_view cell, int& column) {
  std::string_view inside = cell;
  if (inside.size() >= 2 && inside.front() == '"' && inside.back() == '"')
    inside = inside.substr(1, inside.size() - 2);
  auto const begin = inside.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  inside = inside.substr(begin, inside.find_last_not_of(" \t") - begin + 1);
  column += static_cast<int>(inside.data() - cell.data());
  return inside;
}

// Reads one token, or the two of an overlapped pair. Columns are relative to the cell.
ASHLAR_INLINE std::string read_cell(std::string_view cell, std::vector<csv_token>& tokens) {
  constexpr std::string_view overlap = ")OVERLAP_F_B";
  if (cell.find_first_of(" \t") != std::string_view::npos) return "tokens must not have blanks in them";
  tokens.emplace_back();
  if (cell[0] != '(') {
    if (cell.find_first_of(";|:") != std::string_view::npos && is_digit(cell[0]))
      return "tokens must be separated by commas";
    return read_token(cell, tokens[0]);
  }
  std::size_t const middle = cell.find(';');
  if (!cell.ends_with(overlap) || middle == std::string_view::npos)
    return "an overlapped pair must be a forward and a backward, as in (0F7;3B1)OVERLAP_F_B";
  tokens.emplace_back();
  std::string wrong = read_token(cell.substr(1, middle - 1), tokens[0]);
  if (wrong.empty())
    wrong = read_token(cell.substr(middle + 1, cell.size() - overlap.size() - middle - 1), tokens[1]);
  if (!wrong.empty()) return wrong;
  if (!tokens[0].computes() || tokens[0].what.kind != pass_kind::forward || !tokens[1].computes()
      || tokens[1].what.kind != pass_kind::backward)
    return "an overlapped pair must be a forward and then a whole backward, as in "
           "(0F7;3B1)OVERLAP_F_B";
  tokens[0].column = 1;
  tokens[0].overlaps_next = true;
  tokens[1].column = static_cast<int>(middle) + 1;
  return "";
}

// The cell for a message: without control characters, and shortened.
ASHLAR_INLINE std::string printable(std::string_view cell) {
  std::string shown;
  for (char c : cell.substr(0, 40)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return cell.size() > 40 ? shown + "..." : shown;
}

// Finds the dialect from words that only it has, unless it is given; then sets the passes in that
// dialect.
ASHLAR_INLINE void resolve_dialect(csv_tokens& tokens, csv_dialect given, csv_problems& problems) {
  std::string_view const bw = "BW";
  csv_dialect found = csv_dialect::i_b;
  for_each_token(tokens, [&](std::size_t, csv_token const& t) {
    csv_action const a = t.action();
    if (t.word->name == bw)
      found = csv_dialect::b_bw;
    else if (found != csv_dialect::b_bw && t.waits())
      found = csv_dialect::waits;
    else if (found == csv_dialect::i_b && a == csv_action::reduce_grad)
      found = csv_dialect::reduce_grad;
  });
  tokens.dialect = given == csv_dialect::detect ? found : given;
  bool const old = tokens.dialect == csv_dialect::b_bw;
  std::vector<std::pair<int, int>> split;  // stage and micro-batch of the weight passes, sorted
  for_each_token(tokens, [&](std::size_t d, csv_token const& t) {
    csv_action const a = t.action();
    bool const fits =
        old ? !t.waits() && a != csv_action::reduce_grad && t.word->name != std::string_view("I")
            : t.word->name != bw
                  && (tokens.dialect != csv_dialect::i_b || (!t.waits() && a != csv_action::reduce_grad))
                  && (tokens.dialect == csv_dialect::waits || !t.waits());
    if (!fits)
      problems.add(tokens.at(d, t), std::string("all tokens must be of one dialect, and ")
                                        + name_of(tokens.dialect) + " has no " + t.word->name);
    if (old && t.what.kind == pass_kind::backward_weight && t.computes())
      split.emplace_back(t.what.stage, t.what.micro_batch);
  });
  if (!old) return;
  std::sort(split.begin(), split.end());
  for_each_token(tokens, [&](std::size_t, csv_token& t) {
    if (t.computes() && t.word->name == std::string_view("B")
        && std::binary_search(split.begin(), split.end(), std::pair(t.what.stage, t.what.micro_batch)))
      t.what.kind = pass_kind::backward_input;
  });
  for (std::size_t d = 0; d < tokens.lines.size(); ++d)
    for (std::size_t i = 0; i + 1 < tokens.lines[d].size(); ++i)
      if (csv_token const& back = tokens.lines[d][i + 1];
          tokens.lines[d][i].overlaps_next && back.what.kind != pass_kind::backward)
        problems.add(tokens.at(d, tokens.lines[d][i]), rule::overlapped_passes_are_a_pair,
                     tokens.place_of(d, back) + " is half a backward");
}

}  // namespace ashlar::csv_detail

namespace ashlar {

ASHLAR_INLINE csv_tokens read_csv_tokens(std::string_view text, csv_options const& options,
                                         csv_problems& problems) {
  csv_tokens out;
  csv_problem idle;
  int number = 0;
  if (text.empty())
    problems.add({1, 0, "", ""}, "a file must have a line for each device, this one is empty");
  while (!text.empty() && !problems.full()) {
    ++number;
    std::size_t const end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r' && end != std::string_view::npos) line.remove_suffix(1);
    auto& tokens = out.lines.emplace_back();
    if (line.empty()) {
      problems.add({number, 0, "", ""},
                   "every line must hold the passes of a device, this one is empty");
      continue;
    }
    for (std::size_t begin = 0; begin <= line.size() && !problems.full();) {
      std::size_t const comma = std::min(line.find(',', begin), line.size());
      int column = static_cast<int>(begin) + 1;
      std::string_view const cell = csv_detail::unwrapped(line.substr(begin, comma - begin), column);
      begin = comma + 1;
      if (cell.empty()) {
        if (out.idle_slots++ == 0) idle = {number, column, "", ""};
        continue;
      }
      std::vector<csv_token> read;
      if (std::string const wrong = csv_detail::read_cell(cell, read); !wrong.empty()) {
        problems.add({number, column, csv_detail::printable(cell), ""}, wrong);
        continue;
      }
      for (csv_token& t : read) {
        t.column += column;
        tokens.push_back(t);
        out.others += t.computes() ? 0u : 1u;
        if (!t.computes()) continue;
        out.stage_count = std::max(out.stage_count, t.what.stage + 1);
        out.micro_batch_count = std::max(out.micro_batch_count, t.what.micro_batch + 1);
        if (t.what.kind != pass_kind::forward) out.mode = execution_mode::training;
        ++out.count;
      }
    }
  }
  if (out.count == 0 && problems.none())
    problems.add({1, 0, "", ""}, "a file must hold at least one pass, this one has none");
  if (out.others > 0 && out.idle_slots > 0)
    problems.add(idle, "a file with communication must have no idle slots, this cell is empty");
  if (problems.none()) csv_detail::resolve_dialect(out, options.dialect, problems);
  return out;
}

}  // namespace ashlar
