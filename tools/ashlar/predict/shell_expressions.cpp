#include "predict/shell_expressions.hpp"

#include <cstddef>
#include <limits>

namespace tool {

namespace {

class sum_reader {
 public:
  explicit sum_reader(std::string_view text) : text_(text) {}

  std::optional<long long> value() {
    long long const v = sum(0);
    skip_blanks();
    if (is_wrong_ || at_ < text_.size()) return {};
    return v;
  }

 private:
  static constexpr int most_parentheses = 100;

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool takes(std::string_view sign) {
    skip_blanks();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }
  long long sum(int depth) {
    long long v = product(depth);
    while (!is_wrong_) {
      if (takes("+"))
        is_wrong_ = __builtin_add_overflow(v, product(depth), &v) || is_wrong_;
      else if (takes("-"))
        is_wrong_ = __builtin_sub_overflow(v, product(depth), &v) || is_wrong_;
      else
        break;
    }
    return v;
  }
  long long product(int depth) {
    long long v = power(depth);
    while (!is_wrong_) {
      if (takes("*")) {
        is_wrong_ = __builtin_mul_overflow(v, power(depth), &v) || is_wrong_;
      } else if (takes("/")) {
        v = divided(v, power(depth), false);
      } else if (takes("%")) {
        v = divided(v, power(depth), true);
      } else {
        break;
      }
    }
    return v;
  }
  long long divided(long long v, long long by, bool rest) {
    if (by == 0 || (by == -1 && v == std::numeric_limits<long long>::min())) {
      is_wrong_ = true;
      return 0;
    }
    return rest ? v % by : v / by;
  }
  long long power(int depth) {
    long long const base = atom(depth);
    if (is_wrong_ || !takes("**")) return base;
    long long const times = atom(depth);
    long long v = 1;
    if (times < 0 || times > 62) is_wrong_ = true;
    for (long long i = 0; i < times && !is_wrong_; ++i) is_wrong_ = __builtin_mul_overflow(v, base, &v);
    return v;
  }
  long long atom(int depth) {
    skip_blanks();
    if (takes("-")) return depth > most_parentheses ? fail() : -atom(depth + 1);
    if (takes("+")) return depth > most_parentheses ? fail() : atom(depth + 1);
    if (takes("(")) {
      if (depth > most_parentheses) return fail();
      long long const v = sum(depth + 1);
      return takes(")") ? v : fail();
    }
    std::size_t const start = at_;
    long long v = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, text_[at_] - '0', &v))
        return fail();
    bool const is_octal = text_[start < text_.size() ? start : 0] == '0' && at_ > start + 1;
    return at_ == start || is_octal ? fail() : v;
  }
  long long fail() {
    is_wrong_ = true;
    return 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_wrong_ = false;
};

}  // namespace

std::optional<long long> value_of_sum(std::string_view text) { return sum_reader(text).value(); }

}  // namespace tool
