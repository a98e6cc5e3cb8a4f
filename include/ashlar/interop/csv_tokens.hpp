// The tokens of a compute-only CSV, and what may be wrong with them.
#pragma once

#include <ashlar/diagnosis.hpp>
#include <ashlar/pass.hpp>
#include <ashlar/render/token.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar {

struct csv_options {
  bool idle_slots = false;  // whether empty cells are idle slots, as PyTorch writes them, or an error
  std::size_t most_problems = 5;  // what is more is not looked for
};

// Lines and columns count from 1, columns in bytes, as editors do; a column of 0 means the line as a
// whole.
struct csv_problem {
  int line = 0;
  int column = 0;
  std::string token;
  std::string message;  // what must hold and does not

  friend bool operator==(csv_problem const&, csv_problem const&) = default;
};

// One line for people: `line 2, column 5: '1Q0': ...`.
inline std::string to_string(csv_problem const& p) {
  std::string text = "line " + std::to_string(p.line);
  if (p.column > 0) text += ", column " + std::to_string(p.column);
  if (!p.token.empty()) text += ": '" + p.token + "'";
  return text + ": " + p.message;
}

// Takes the first few.
class csv_problems {
 public:
  explicit csv_problems(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

  void add(csv_problem p, std::string message) {
    if (full()) return;
    p.message = std::move(message);
    list_.push_back(std::move(p));
  }
  bool full() const { return list_.size() >= most_; }
  bool none() const { return list_.empty(); }
  // In the order of the file.
  std::vector<csv_problem> take() {
    std::stable_sort(list_.begin(), list_.end(), [](csv_problem const& a, csv_problem const& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    return std::move(list_);
  }

 private:
  std::size_t most_;
  std::vector<csv_problem> list_;
};

struct csv_token {
  pass what;
  int column = 0;
};

struct csv_tokens {
  std::vector<std::vector<csv_token>> lines;  // by device
  int stage_count = 0;                        // one more than the highest
  int micro_batch_count = 0;
  std::size_t count = 0;

  csv_problem at(std::size_t device, csv_token const& t) const {
    return {static_cast<int>(device) + 1, t.column, to_string(t.what), ""};
  }
  csv_problem at(site const& s) const {
    return at(static_cast<std::size_t>(s.device),
              lines[static_cast<std::size_t>(s.device)][static_cast<std::size_t>(s.index)]);
  }
  std::string place_of(std::size_t device, csv_token const& t) const {
    return to_string(t.what) + " on line " + std::to_string(device + 1) + ", column "
           + std::to_string(t.column);
  }
  std::string place_of(site const& s) const {
    if (s.device < 0 || s.index < 0) return "itself";
    return place_of(static_cast<std::size_t>(s.device),
                    lines[static_cast<std::size_t>(s.device)][static_cast<std::size_t>(s.index)]);
  }
};

namespace csv_detail {

inline constexpr int largest_number = 999'999'999;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number at the front of `rest`, which it leaves; -1 if there is none, -2 if it is too large, -3 if it
// is written with needless zeros.
inline int read_number(std::string_view& rest) {
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

inline bool read_kind(char c, pass_kind& kind) {
  for (pass_kind k : {pass_kind::forward, pass_kind::recompute, pass_kind::backward,
                      pass_kind::backward_input, pass_kind::backward_weight})
    if (letter_of(k) == c) {
      kind = k;
      return true;
    }
  return false;
}

// What is wrong with the cell, or nothing and the pass.
inline std::string read_cell(std::string_view cell, pass& what) {
  if (cell.empty()) return "a cell must hold a token, this one is empty";
  if (cell.find_first_of(" \t") != std::string_view::npos)
    return "tokens must not have blanks in or around them";
  if (cell.find_first_of(";|:") != std::string_view::npos && is_digit(cell[0]))
    return "tokens must be separated by commas";
  if (cell.find("OVERLAP") != std::string_view::npos)
    return "overlapped pairs are not supported: a token must be one pass";
  std::string_view rest = cell;
  int const stage = read_number(rest);
  bool const known = !rest.empty() && read_kind(rest[0], what.kind);
  if (!rest.empty()) rest.remove_prefix(1);
  int const micro_batch = read_number(rest);
  if (stage == -1 || !known || micro_batch == -1 || !rest.empty())
    return "unknown token: a token must be stage, one of F I W B R, micro-batch, as in 2F0";
  if (stage == -2 || micro_batch == -2)
    return "stages and micro-batches must be no more than " + std::to_string(largest_number);
  if (stage == -3 || micro_batch == -3) return "numbers must not begin with a needless 0";
  what.stage = stage;
  what.micro_batch = micro_batch;
  return "";
}

// For a message: without control characters, and not too long.
inline std::string printable(std::string_view cell) {
  std::string shown;
  for (char c : cell.substr(0, 40)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return cell.size() > 40 ? shown + "..." : shown;
}

}  // namespace csv_detail

inline csv_tokens read_csv_tokens(std::string_view text, csv_options const& options,
                                  csv_problems& problems) {
  csv_tokens out;
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
      std::string_view const cell = line.substr(begin, comma - begin);
      csv_token token{.what = {}, .column = static_cast<int>(begin) + 1};
      begin = comma + 1;
      if (cell.empty() && options.idle_slots) continue;
      if (std::string const wrong = csv_detail::read_cell(cell, token.what); !wrong.empty()) {
        problems.add({number, token.column, csv_detail::printable(cell), ""}, wrong);
        continue;
      }
      out.stage_count = std::max(out.stage_count, token.what.stage + 1);
      out.micro_batch_count = std::max(out.micro_batch_count, token.what.micro_batch + 1);
      ++out.count;
      tokens.push_back(token);
    }
  }
  if (out.count == 0 && problems.none())
    problems.add({1, 0, "", ""}, "a file must hold at least one pass, this one has idle slots only");
  return out;
}

}  // namespace ashlar
