// Definitions of json_pickle.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/json_pickle.hpp>

#include <nlohmann/json.hpp>

#include <bit>
#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ashlar::json_detail {

// A machine with a stack, as the format has it. Values are nodes, which the memo and several parents may
// share, so a list that is filled later is filled everywhere.
class pickle_machine {
 public:
  pickle_machine(std::string_view bytes, std::string const& path)
      : bytes_(bytes), path_(path), left_(1'000 + 16 * bytes.size()) {}

  nlohmann::json run() {
    for (;;) {
      std::size_t const at = place_;
      auto const code = static_cast<unsigned char>(take(1)[0]);
      if (code == '.') break;
      step(code, at);
    }
    if (!marks_.empty()) fail(place_, "a mark is left at its end");
    return copied(pop(place_), 0);
  }

 private:
  enum class kind { plain, list, dict };
  struct node {
    kind is = kind::plain;
    nlohmann::json value = nullptr;       // of plain ones
    std::vector<std::size_t> parts = {};  // of a dict, keys and values in turn
  };
  static constexpr int deepest = 100;

  [[noreturn]] void fail(std::size_t at, std::string const& what) const {
    throw input_error((path_.empty() ? "" : "'" + path_ + "', ") + "byte " + std::to_string(at) + ": "
                      + what);
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - place_) fail(place_, "the pickle ends early");
    std::string_view const taken = bytes_.substr(place_, count);
    place_ += count;
    return taken;
  }
  std::uint64_t number(std::size_t width) {
    std::string_view const digits = take(width);
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(digits[i]);
    return value;
  }
  std::string_view line() {
    std::size_t const end = bytes_.find('\n', place_);
    if (end == std::string_view::npos) fail(place_, "the pickle ends early");
    std::string_view const text = take(end - place_);
    take(1);
    return text;
  }

  void push(node made) {
    nodes_.push_back(std::move(made));
    stack_.push_back(nodes_.size() - 1);
  }
  void push_plain(nlohmann::json value) { push({.is = kind::plain, .value = std::move(value)}); }
  std::size_t pop(std::size_t at) {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail(at, "the stack is empty");
    std::size_t const top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::vector<std::size_t> pop_to_mark(std::size_t at) {
    if (marks_.empty()) fail(at, "there is no mark");
    auto const from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    marks_.pop_back();
    std::vector<std::size_t> parts(from, stack_.end());
    stack_.erase(from, stack_.end());
    return parts;
  }
  std::vector<std::size_t> pop_last(std::size_t count, std::size_t at) {
    std::vector<std::size_t> parts(count);
    while (count > 0) parts[--count] = pop(at);
    return parts;
  }
  void add(kind to, std::vector<std::size_t> const& parts, std::size_t at) {
    if (stack_.empty() || nodes_[stack_.back()].is != to)
      fail(at, to == kind::list ? "there is no list to add to" : "there is no dict to add to");
    if (to == kind::dict && parts.size() % 2 != 0) fail(at, "a key has no value");
    std::vector<std::size_t>& all = nodes_[stack_.back()].parts;
    all.insert(all.end(), parts.begin(), parts.end());
  }
  void remember(std::uint64_t key, std::size_t at) {
    if (stack_.empty()) fail(at, "the stack is empty");
    // Python numbers what it remembers from 0 on.
    if (key > bytes_.size()) fail(at, "the memo has no place " + std::to_string(key));
    if (memo_.size() <= key) memo_.resize(static_cast<std::size_t>(key) + 1, none);
    memo_[static_cast<std::size_t>(key)] = stack_.back();
    ++remembered_;
  }
  void recall(std::uint64_t key, std::size_t at) {
    if (key >= memo_.size() || memo_[static_cast<std::size_t>(key)] == none)
      fail(at, "the memo has no value " + std::to_string(key));
    stack_.push_back(memo_[static_cast<std::size_t>(key)]);
  }
  // A whole number of any width, the lowest byte first; what a record counts fits 64 bits.
  nlohmann::json wide(std::size_t width, std::size_t at) {
    if (width > 8) fail(at, "a number has more than 64 bits");
    std::uint64_t value = number(width);
    if (width > 0 && width < 8 && (value >> (8 * width - 1)) != 0)
      value |= ~std::uint64_t{0} << 8 * width;
    return static_cast<std::int64_t>(value);
  }
  template <class Number>
  nlohmann::json written(std::string_view text, std::size_t at) const {
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      fail(at, "'" + std::string(text.substr(0, 40)) + "' is no number that fits 64 bits");
    return value;
  }

  void step(unsigned char code, std::size_t at);
  nlohmann::json copied(std::size_t index, int depth);

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::string_view bytes_;
  std::string const& path_;
  std::size_t left_;
  std::size_t place_ = 0;
  std::vector<node> nodes_ = {};
  std::vector<std::size_t> stack_ = {}, marks_ = {}, memo_ = {};
  std::size_t remembered_ = 0;
};

ASHLAR_INLINE void pickle_machine::step(unsigned char code, std::size_t at) {
  auto const text = [&](std::uint64_t length) {
    push_plain(std::string(take(static_cast<std::size_t>(length))));
  };
  auto const tuple = [&](std::vector<std::size_t> parts) {
    push({.is = kind::list, .parts = std::move(parts)});
  };
  switch (code) {
    case 0x80:
      take(1);
      return;  // the protocol
    case 0x95:
      take(8);
      return;  // the length of a frame
    case '(':
      marks_.push_back(stack_.size());
      return;
    case '0':
      pop(at);
      return;
    case '1':
      pop_to_mark(at);
      return;
    case '2':
      if (stack_.empty()) fail(at, "the stack is empty");
      stack_.push_back(stack_.back());
      return;
    case 'N':
      push_plain(nullptr);
      return;
    case 0x88:
      push_plain(true);
      return;
    case 0x89:
      push_plain(false);
      return;
    case 'K':
      push_plain(number(1));
      return;
    case 'M':
      push_plain(number(2));
      return;
    case 'J':
      push_plain(wide(4, at));
      return;
    case 0x8a:
      push_plain(wide(static_cast<std::size_t>(number(1)), at));
      return;
    case 'G': {
      std::uint64_t bits = 0;
      for (char const c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
      push_plain(std::bit_cast<double>(bits));
      return;
    }
    case 'I': {
      std::string_view const digits = line();
      if (digits == "00" || digits == "01")
        push_plain(digits == "01");
      else
        push_plain(written<std::int64_t>(digits, at));
      return;
    }
    case 'L': {
      std::string_view digits = line();
      if (digits.ends_with('L')) digits.remove_suffix(1);
      push_plain(written<std::int64_t>(digits, at));
      return;
    }
    case 'F':
      push_plain(written<double>(line(), at));
      return;
    case 0x8c:
    case 'U':
    case 'C':
      text(number(1));
      return;
    case 'X':
    case 'T':
    case 'B':
      text(number(4));
      return;
    case 0x8d:
    case 0x8e:
      text(number(8));
      return;
    case ']':
    case ')':
    case 0x8f:
      tuple({});
      return;
    case 'l':
    case 't':
    case 0x91:
      tuple(pop_to_mark(at));
      return;
    case 0x85:
      tuple(pop_last(1, at));
      return;
    case 0x86:
      tuple(pop_last(2, at));
      return;
    case 0x87:
      tuple(pop_last(3, at));
      return;
    case '}':
      push({.is = kind::dict});
      return;
    case 'd': {
      std::vector<std::size_t> const parts = pop_to_mark(at);
      push({.is = kind::dict});
      add(kind::dict, parts, at);
      return;
    }
    case 'a':
      add(kind::list, pop_last(1, at), at);
      return;
    case 'e':
    case 0x90:
      add(kind::list, pop_to_mark(at), at);
      return;
    case 's':
      add(kind::dict, pop_last(2, at), at);
      return;
    case 'u':
      add(kind::dict, pop_to_mark(at), at);
      return;
    case 'p':
      remember(written<std::uint64_t>(line(), at).get<std::uint64_t>(), at);
      return;
    case 'q':
      remember(number(1), at);
      return;
    case 'r':
      remember(number(4), at);
      return;
    case 0x94:
      remember(remembered_, at);
      return;
    case 'g':
      recall(written<std::uint64_t>(line(), at).get<std::uint64_t>(), at);
      return;
    case 'h':
      recall(number(1), at);
      return;
    case 'j':
      recall(number(4), at);
      return;
    case 'c':
    case 'i':
    case 'o':
    case 'b':
    case 'R':
    case 'P':
    case 'Q':
    case 0x81:
    case 0x82:
    case 0x83:
    case 0x84:
    case 0x92:
    case 0x93:
      fail(at, "it is no plain data: reading it would import or call something, which is never done");
    default:
      fail(at, "there is no opcode " + std::to_string(code));
  }
}

ASHLAR_INLINE nlohmann::json pickle_machine::copied(std::size_t index, int depth) {
  if (depth > deepest) fail(place_, "its values are too deep");
  node const& one = nodes_[index];
  std::size_t const letters = one.value.is_string() ? one.value.get_ref<std::string const&>().size() : 0;
  if (left_ <= letters / 16) fail(place_, "its shared parts are too many");
  left_ -= 1 + letters / 16;
  if (one.is == kind::plain) return one.value;
  if (one.is == kind::list) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t const part : one.parts) list.push_back(copied(part, depth + 1));
    return list;
  }
  nlohmann::json dict = nlohmann::json::object();
  for (std::size_t i = 0; i < one.parts.size(); i += 2) {
    nlohmann::json const& key = nodes_[one.parts[i]].value;
    if (nodes_[one.parts[i]].is != kind::plain) fail(place_, "a key is no text or number");
    dict[key.is_string() ? key.get<std::string>() : key.dump()] = copied(one.parts[i + 1], depth + 1);
  }
  return dict;
}

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

ASHLAR_INLINE json_text parse_pickle(std::string_view bytes, std::string path) {
  auto root = std::make_shared<nlohmann::json const>(json_detail::pickle_machine(bytes, path).run());
  return {std::move(path), {}, std::move(root)};
}

}  // namespace ashlar
