// The tokens of PyTorch's CSV, and the errors of single tokens.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/interop/csv_actions.hpp>
#include <ashlar/interop/csv_problems.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ashlar {

// Options for reading a file.
struct csv_options {
  std::size_t most_problems = 5;  // the search stops there
  csv_dialect dialect = csv_dialect::detect;
  transfer_lanes lanes =
      transfer_lanes::one;  // of a device, in the program of a file with communication
};

// A cell of the file, or one half of a pair in a cell.
struct csv_token {
  csv_word const* word = &csv_words[0];
  pass what;  // a compute's pass, in any dialect; else stage and micro-batch, if it has one
  int column = 0;
  bool overlaps_next = false;  // shares its slot of time with the next token

  csv_action action() const { return word->action; }
  bool computes() const { return action() == csv_action::compute; }
  bool sends() const { return action() == csv_action::send_f || action() == csv_action::send_b; }
  bool receives() const { return action() == csv_action::recv_f || action() == csv_action::recv_b; }
  bool waits() const { return word->awaited != nullptr; }
  // The token that a wait waits for.
  csv_token awaited() const;
  // Whether a value moves between stages, or its send is awaited; and the stage on the other side.
  bool moves() const { return word->of_micro_batch && !computes(); }
  int other_stage() const {
    bool const forward = what.kind == pass_kind::forward;
    return what.stage + (forward != receives() ? 1 : -1);
  }
};

// The token as written in the file.
inline std::string to_string(csv_token const& t) {
  std::string const text = std::to_string(t.what.stage) + t.word->name;
  return t.word->of_micro_batch ? text + std::to_string(t.what.micro_batch) : text;
}

// All tokens of a file.
struct csv_tokens {
  std::vector<std::vector<csv_token>> lines;  // by device
  csv_dialect dialect = csv_dialect::i_b;
  int stage_count = 0;  // one more than the highest of the passes
  int micro_batch_count = 0;
  std::size_t count = 0;                            // number of passes
  std::size_t others = 0;                           // number of other tokens
  std::size_t idle_slots = 0;                       // empty cells, as PyTorch writes them
  execution_mode mode = execution_mode::inference;  // training if some pass is not a forward

  // A token; and where it is, for a problem or in words.
  csv_token const& token(site const& s) const { return nth(nth(lines, s.device), s.index); }
  csv_problem at(std::size_t device, csv_token const& t) const {
    return {static_cast<int>(device) + 1, t.column, to_string(t), ""};
  }
  csv_problem at(site const& s) const { return at(static_cast<std::size_t>(s.device), token(s)); }
  std::string place_of(std::size_t device, csv_token const& t) const {
    return to_string(t) + " on line " + std::to_string(device + 1) + ", column "
           + std::to_string(t.column);
  }
  std::string place_of(site const& s) const {
    return place_of(static_cast<std::size_t>(s.device), token(s));
  }
};

namespace csv_detail {

// Reads a number at the front of `rest` and removes it; -1 if there is none, -2 if it is too large, -3
// if it has needless zeros.
int read_number(std::string_view& rest);

}  // namespace csv_detail

// Reads the tokens of a file. Unreadable cells go to `problems`.
csv_tokens read_csv_tokens(std::string_view text, csv_options const& options, csv_problems& problems);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/interop/csv_tokens.ipp>
#endif
