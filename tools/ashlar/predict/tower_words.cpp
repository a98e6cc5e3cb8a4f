#include "predict/tower_words.hpp"

#include <algorithm>
#include <cstddef>

namespace tool {

namespace {

using ashlar::cost::tower;

bool is_named(std::string_view word, tower const& t) {
  if (word == all_towers) return true;
  if (word == encoders || word == aligners) return t.continues == (word == aligners);
  std::string_view const name = t.name;
  return name == word
         || (name.size() > word.size() && name.starts_with(word) && name[word.size()] == '.');
}

}  // namespace

std::vector<bool> towers_named(std::string_view word, ashlar::cost::architecture const& model) {
  std::vector<bool> named;
  for (tower const& each : model.towers) named.push_back(is_named(word, each));
  if (std::find(named.begin(), named.end(), true) == named.end()) named.clear();
  return named;
}

bool are_kinds_of_towers(std::string_view text) {
  for (;;) {
    auto const comma = text.find(',');
    std::string_view const word = text.substr(0, comma);
    if (word != all_towers && word != encoders && word != aligners) return false;
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tool
