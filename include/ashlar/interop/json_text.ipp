// Definitions of json_text.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/json_text.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace ashlar::json_detail {

using nlohmann::json;

// Reports its position, which the parser does not.
struct counting_iterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = char const*;
  using reference = char const&;

  char const* at;
  char const** furthest;

  char const& operator*() const { return *at; }
  counting_iterator& operator++() {
    *furthest = ++at;
    return *this;
  }
  counting_iterator operator++(int) {
    counting_iterator const before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(counting_iterator const& a, counting_iterator const& b) { return a.at == b.at; }
};

// Line and column, from 1, of a place in the text.
ASHLAR_INLINE std::string place_of_offset(std::string_view text, std::size_t offset) {
  std::string_view const before = text.substr(0, offset);
  auto const line = 1 + std::count(before.begin(), before.end(), '\n');
  auto const start = before.find_last_of('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - start + 1);
}

// The library's message, without the name of its exception.
ASHLAR_INLINE std::string words_of(json::exception const& e) {
  std::string_view words = e.what();
  if (auto const at = words.find("line "); at != std::string_view::npos)
    return std::string(words.substr(at));
  if (auto const at = words.find("] "); at != std::string_view::npos) words.remove_prefix(at + 2);
  return std::string(words);
}

// Finds the keys and indices that lead to a value, the last first; false if it is not there.
ASHLAR_INLINE bool find_path(json const& root, json const& value, std::vector<std::string>& path) {
  if (&root == &value) return true;
  if (root.is_object()) {
    for (auto const& [key, inner] : root.items())
      if (find_path(inner, value, path)) {
        path.push_back(key);
        return true;
      }
  } else if (root.is_array()) {
    for (std::size_t i = 0; i < root.size(); ++i)
      if (find_path(root[i], value, path)) {
        path.push_back(std::to_string(i));
        return true;
      }
  }
  return false;
}

// The start of the token that ends before `end`, or a few delimiters before that.
ASHLAR_INLINE std::size_t start_of_token(std::string_view text, std::size_t end) {
  constexpr std::string_view delimiters = " \t\r\n,:[]{}";
  while (end > 0 && delimiters.find(text[end - 1]) != std::string_view::npos) --end;
  if (end == 0) return 0;
  std::size_t start = end - 1;
  if (text[start] != '"') {
    while (start > 0 && delimiters.find(text[start - 1]) == std::string_view::npos) --start;
    return start;
  }
  while (start > 0) {
    --start;
    std::size_t escapes = 0;
    while (escapes < start && text[start - escapes - 1] == '\\') ++escapes;
    if (text[start] == '"' && escapes % 2 == 0) break;
  }
  return start;
}

// Walks through a text again, until it comes to the value at a path.
class value_finder {
 public:
  explicit value_finder(std::vector<std::string> path) : path_(std::move(path)) {}

  // True at the value. It begins right before `at` if it is a list or an object, else see
  // start_of_token().
  bool operator()(json::parse_event_t event, json const& parsed) {
    using what = json::parse_event_t;  // clang++ 14 has no `using enum` for it
    if (event == what::key) levels_.back().key = parsed.get<std::string>();
    if (event == what::object_end || event == what::array_end) levels_.pop_back();
    if (event == what::key || event == what::object_end || event == what::array_end) return false;
    bool const found = is_here();
    if (!levels_.empty()) ++levels_.back().count;
    if (event != what::value) levels_.push_back({event == what::array_start});
    return found;
  }

 private:
  struct level {
    bool list;
    std::size_t count = 0;
    std::string key = {};
  };
  bool is_here() const {
    if (levels_.size() != path_.size()) return false;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      level const& l = levels_[i];
      std::size_t const at =
          i + 1 < levels_.size() ? l.count - 1 : l.count;  // levels above the last have counted it
      if ((l.list ? std::to_string(at) : l.key) != path_[path_.size() - 1 - i]) return false;
    }
    return true;
  }

  std::vector<std::string> path_;
  std::vector<level> levels_;
};

// A file and a place in it; either may be unknown.
ASHLAR_INLINE std::string place_in(std::string const& path, std::string const& place) {
  std::string const file = path.empty() ? "" : "'" + path + "'";
  if (place.empty()) return file.empty() ? "the text" : file;
  return file.empty() ? place : file + ", " + place;
}

ASHLAR_INLINE json parse_strictly(std::string const& text, std::string const& path) {
  // The parser would end at a zero byte.
  if (auto const zero = text.find('\0'); zero != std::string::npos)
    throw input_error(place_in(path, place_of_offset(text, zero)) + ": a byte of zero is no JSON");
  char const* at = text.data();
  auto const before = [&](std::size_t count) {  // the place of the last bytes read
    auto const end = static_cast<std::size_t>(at - text.data());
    return place_in(path, place_of_offset(text, end - std::min(count, text.size())));
  };
  std::vector<std::set<std::string, std::less<>>> keys;  // of each open object
  constexpr int most_levels = 64;                        // files need only a few
  auto const refuse_twice = [&](int level, json::parse_event_t event, json& value) {
    if (level > most_levels)
      throw input_error(before(1) + ": lists and objects must not be within each other "
                        + std::to_string(level) + " times");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event != json::parse_event_t::key) return true;
    auto const& key = value.get_ref<std::string const&>();
    if (!keys.back().insert(key).second)
      throw input_error(before(key.size() + 2) + ": \"" + key.substr(0, 64) + "\" is there twice");
    return true;
  };
  try {
    return json::parse(counting_iterator{text.data(), &at},
                       counting_iterator{text.data() + text.size(), &at}, refuse_twice);
  } catch (json::out_of_range const&) {  // which has no place
    auto const end = static_cast<std::size_t>(at - text.data());
    throw input_error(place_in(path, place_of_offset(text, start_of_token(text, end)))
                      + ": the number is too large");
  } catch (json::exception const& e) {
    throw input_error(place_in(path, words_of(e)));
  }
}

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE std::string json_text::place_of(nlohmann::json const& value) const {
  using nlohmann::json;
  std::vector<std::string> path_to;
  if (text.empty() || !json_detail::find_path(root(), value, path_to))
    return json_detail::place_in(path, "");
  char const* at = text.data();
  json_detail::value_finder finder(path_to);
  std::size_t place = 0;
  bool found = false;
  auto const look = [&](int, json::parse_event_t event, json& parsed) {
    if (!found && finder(event, parsed)) {
      found = true;
      auto const end = static_cast<std::size_t>(at - text.data());
      place = event == json::parse_event_t::value ? json_detail::start_of_token(text, end) : end - 1;
    }
    return true;
  };
  json const same = json::parse(json_detail::counting_iterator{text.data(), &at},
                                json_detail::counting_iterator{text.data() + text.size(), &at}, look);
  return json_detail::place_in(path,
                               same.is_discarded() ? "" : json_detail::place_of_offset(text, place));
}

ASHLAR_INLINE json_text parse_json(std::string text, std::string path) {
  auto root = std::make_shared<nlohmann::json const>(json_detail::parse_strictly(text, path));
  return {std::move(path), std::move(text), std::move(root)};
}

}  // namespace ashlar
