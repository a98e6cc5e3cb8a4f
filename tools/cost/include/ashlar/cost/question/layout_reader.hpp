// Reads layouts as people write them: Megatron's letters, or numbers of layers per stage.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/unpredictable.hpp>
#include <ashlar/cost/question/question.hpp>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::cost {

namespace layout_reader_detail {

inline constexpr int most_letters = 200'000;  // or stages
inline constexpr int most_layers = 1'000'000;
inline constexpr int most_parentheses = 64;

// A text with a position, and the errors there.
class text_reader {
 protected:
  explicit text_reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail() const {
    throw unpredictable(requirement::layout_is_read, static_cast<long long>(at_) + 1);
  }
  bool is_at_end() const { return at_ == text_.size(); }
  bool is_at(char c) const { return !is_at_end() && text_[at_] == c; }
  // Reads at least one digit. Numbers above `most` become `most`.
  int number(int most) {
    std::size_t const start = at_;
    int n = 0;
    for (; !is_at_end() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      n = min_of(10 * n + (text_[at_] - '0'), most);
    if (at_ == start) fail();
    return n;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Reads Megatron's letters and expands repetitions.
class letters_reader : text_reader {
 public:
  // Refers to the text.
  explicit letters_reader(std::string_view text) : text_reader(text) {}

  // Returns E, t, m, L and | in their order. Throws unpredictable. Linear in the size of the result.
  std::vector<char> letters() {
    read(0);
    return std::move(out_);
  }

 private:
  // Reads to the end, or to the parenthesis that closes this level.
  void read(int depth) {
    if (depth > most_parentheses) fail();
    std::size_t last = out_.size();  // start of the part that a * repeats
    bool repeats = false;
    while (at_ < text_.size()) {
      char const c = text_[at_];
      if (c == ',' || c == ' ') {
        ++at_;
      } else if (c == '(') {
        last = out_.size();
        ++at_;
        read(depth + 1);
        if (at_ == text_.size()) fail();
        ++at_;
        repeats = true;
      } else if (c == ')') {
        if (depth == 0) fail();
        return;
      } else if (c == '*') {
        if (!repeats) fail();
        ++at_;
        repeat(last, static_cast<std::size_t>(number(most_letters + 1)));
        repeats = false;
      } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
        last = out_.size();
        add(c);
        ++at_;
        repeats = true;
      } else {
        fail();
      }
    }
  }

  void repeat(std::size_t from, std::size_t times) {
    std::size_t const end = out_.size();
    if (times == 0) {
      while (out_.size() > from) out_.pop_back();
      return;
    }
    for (std::size_t k = 1; k < times && end > from; ++k)
      for (std::size_t i = from; i < end; ++i) add(out_[i]);
  }

  void add(char c) {
    if (out_.size() >= static_cast<std::size_t>(most_letters))
      throw unpredictable(requirement::layout_is_small_enough, 0, most_letters);
    out_.push_back(c);
  }

  std::vector<char> out_;
};

inline bool is_list_of_counts(std::string_view text) {
  for (char c : text)
    if (c != ',' && c != ' ' && c != 'x' && (c < '0' || c > '9')) return false;
  return !text.empty() && text.front() != 'x';
}

// Reads layers of each stage, separated by commas or blanks; 8x14 means 8 layers on each of 14 stages.
class counts_reader : text_reader {
 public:
  // Refers to the text.
  explicit counts_reader(std::string_view text) : text_reader(text) {}

  // The first stage has the embedding, the last the head. Throws unpredictable. Linear in the size of
  // the result.
  std::vector<stage> stages() {
    std::vector<stage> all;
    int first = 0;
    do {
      skip_blanks();
      int const layers = number(most_layers);
      int times = 1;
      if (is_at('x')) {
        ++at_;
        times = number(most_letters + 1);
      }
      if (static_cast<int>(all.size()) + times > most_letters)
        throw unpredictable(requirement::layout_is_small_enough, 0, most_letters);
      for (; times > 0; --times, first = min_of(first + layers, most_layers))
        all.push_back({.first = first, .count = layers});
    } while (goes_on());
    if (all.empty()) fail();
    all.front().has_embedding = true;
    all.back().has_head = true;
    return all;
  }

 private:
  void skip_blanks() {
    while (is_at(' ')) ++at_;
  }
  // Skips a comma or blanks before another number.
  bool goes_on() {
    std::size_t const end = at_;
    skip_blanks();
    if (is_at_end()) return false;
    if (is_at(','))
      ++at_;
    else if (at_ == end)
      fail();
    return true;
  }
};

}  // namespace layout_reader_detail

}  // namespace ashlar::cost
