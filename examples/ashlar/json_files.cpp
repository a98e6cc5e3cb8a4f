#include "json_files.hpp"

#include "command.hpp"
#include "files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
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
std::string place_of(std::string_view text, std::size_t offset) {
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

}  // namespace

json read_json(std::string const& path) { return parse_json(read_text(path), path); }

bool holds_json(std::string const& text) {
  auto const first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

json parse_json(std::string const& text, std::string const& path) {
  char const* at = text.data();
  std::vector<std::set<std::string, std::less<>>> keys;  // of each object that is open
  auto const refuse_twice = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event != json::parse_event_t::key) return true;
    auto const& key = value.get_ref<std::string const&>();
    if (!keys.back().insert(key).second)
      throw usage_error(fmt::format("'{}', {}: \"{}\" is there twice", path,
                                    place_of(text, static_cast<std::size_t>(at - text.data())
                                                       - std::min(key.size() + 2, text.size())),
                                    key.substr(0, 64)));
    return true;
  };
  try {
    return json::parse(counting_iterator{text.data(), &at},
                       counting_iterator{text.data() + text.size(), &at}, refuse_twice);
  } catch (json::exception const& e) {
    throw usage_error(fmt::format("'{}', {}", path, words_of(e)));
  }
}

}  // namespace tool
