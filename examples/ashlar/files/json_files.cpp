#include "files/json_files.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/memory_cap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

using nlohmann::json;

// Tells how far it has come: the parser does not.
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
std::string place_of_offset(std::string_view text, std::size_t offset) {
  std::string_view const before = text.substr(0, offset);
  auto const line = 1 + std::count(before.begin(), before.end(), '\n');
  auto const start = before.find_last_of('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, offset - start + 1);
}

// What the library says, without the name of its exception.
std::string words_of(json::exception const& e) {
  std::string_view words = e.what();
  if (auto const at = words.find("line "); at != std::string_view::npos)
    return std::string(words.substr(at));
  if (auto const at = words.find("] "); at != std::string_view::npos) words.remove_prefix(at + 2);
  return std::string(words);
}

// Keys and indices that lead to a value, the last first; false if it is not there.
bool find_path(json const& root, json const& value, std::vector<std::string>& path) {
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

// Where the token begins that ends before `end`, or a delimiter or two before that.
std::size_t start_of_token(std::string_view text, std::size_t end) {
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

// Walks through a text once more, until it comes to the value at a path.
class value_finder {
 public:
  explicit value_finder(std::vector<std::string> path) : path_(std::move(path)) {}

  // What is found begins right before `at` if it is a list or an object, else as start_of_token() says.
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
          i + 1 < levels_.size() ? l.count - 1 : l.count;  // those within count already
      if ((l.list ? std::to_string(at) : l.key) != path_[path_.size() - 1 - i]) return false;
    }
    return true;
  }

  std::vector<std::string> path_;
  std::vector<level> levels_;
};

}  // namespace

std::string json_text::place_of(json const& value) const {
  std::vector<std::string> path_to;
  std::string const file = fmt::format("'{}'", path);
  if (!find_path(root, value, path_to)) return file;
  char const* at = text.data();
  value_finder finder(path_to);
  std::size_t place = 0;
  bool found = false;
  auto const look = [&](int, json::parse_event_t event, json& parsed) {
    if (!found && finder(event, parsed)) {
      found = true;
      auto const end = static_cast<std::size_t>(at - text.data());
      place = event == json::parse_event_t::value ? start_of_token(text, end) : end - 1;
    }
    return true;
  };
  json const same = json::parse(counting_iterator{text.data(), &at},
                                counting_iterator{text.data() + text.size(), &at}, look);
  return same.is_discarded() ? file : file + ", " + place_of_offset(text, place);
}

bool holds_json(std::string const& text) {
  auto const first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

namespace {

json parse_json(std::string const& text, std::string const& path) {
  char const* at = text.data();
  std::vector<std::set<std::string, std::less<>>> keys;  // of each object that is open
  constexpr int most_levels = 64;                        // of what is read, none has more than a few
  auto const refuse_twice = [&](int level, json::parse_event_t event, json& value) {
    if (level > most_levels)
      throw usage_error(
          fmt::format("'{}', {}: lists and objects must not be within each other {} times", path,
                      place_of_offset(text, static_cast<std::size_t>(at - text.data()) - 1), level));
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event != json::parse_event_t::key) return true;
    auto const& key = value.get_ref<std::string const&>();
    if (!keys.back().insert(key).second)
      throw usage_error(fmt::format("'{}', {}: \"{}\" is there twice", path,
                                    place_of_offset(text, static_cast<std::size_t>(at - text.data())
                                                              - std::min(key.size() + 2, text.size())),
                                    key.substr(0, 64)));
    return true;
  };
  try {
    return json::parse(counting_iterator{text.data(), &at},
                       counting_iterator{text.data() + text.size(), &at}, refuse_twice);
  } catch (json::out_of_range const&) {  // of which it tells no place
    auto const end = static_cast<std::size_t>(at - text.data());
    throw usage_error(fmt::format("'{}', {}: the number is too large", path,
                                  place_of_offset(text, start_of_token(text, end))));
  } catch (json::exception const& e) {
    throw usage_error(fmt::format("'{}', {}", path, words_of(e)));
  }
}

}  // namespace

json_text read_json_text(std::string const& path) { return json_text_of(read_text(path), path); }

json_text json_text_of(std::string text, std::string const& path) {
  constexpr double bytes_a_value = 64;  // a short text, the key of a number, or room to grow
  auto const values =
      std::count_if(text.begin(), text.end(), [](char c) { return c == ',' || c == '[' || c == '{'; });
  must_fit_in_memory(fmt::format("the lists of '{}'", path), "values", static_cast<double>(values),
                     bytes_a_value);
  json root = parse_json(text, path);
  return {path, std::move(text), std::move(root)};
}

void json_reader::fail(nlohmann::json const& value, std::string const& what) const {
  throw usage_error(fmt::format("{}: {}", source_.place_of(value), what));
}

nlohmann::json const& json_reader::at(nlohmann::json const& object, char const* key) const {
  if (!object.is_object() || !object.contains(key)) fail(object, fmt::format("lacks \"{}\"", key));
  return object[key];
}

double json_reader::number(nlohmann::json const& value, char const* key, double least,
                           double most) const {
  if (!value.is_number() || !(value >= least && value <= most))
    fail(value, fmt::format("\"{}\" must be a number from {} to {}", key, least, most));
  return value.get<double>();
}

long long json_reader::whole(nlohmann::json const& value, char const* key, long long least,
                             long long most) const {
  // What is above the signed range counts as unsigned.
  bool const is_far = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  if (!value.is_number_integer() || is_far || value < least || value > most)
    fail(value, fmt::format("\"{}\" must be a whole number from {} to {}", key, least, most));
  return value.get<long long>();
}

std::string json_reader::text(nlohmann::json const& value, char const* key) const {
  if (!value.is_string()) fail(value, fmt::format("\"{}\" must be a text", key));
  return value.get<std::string>();
}

nlohmann::json const& json_reader::list(nlohmann::json const& value, char const* key) const {
  if (!value.is_array()) fail(value, fmt::format("\"{}\" must be a list", key));
  return value;
}

nlohmann::json const& json_reader::object(nlohmann::json const& value, char const* key) const {
  if (!value.is_object()) fail(value, fmt::format("\"{}\" must be an object", key));
  return value;
}

}  // namespace tool
