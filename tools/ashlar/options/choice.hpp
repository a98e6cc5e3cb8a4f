// An option with one of a few words.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>

namespace tool {

// `value` may be an optional, for a choice without a default.
template <class Enum, class Value>
CLI::Option* add_choice(CLI::App& command, char const* name, Value& value,
                        std::map<std::string, Enum> const& words, char const* help) {
  std::string list;
  for (auto const& [word, meaning] : words) list += (list.empty() ? "" : "|") + word;
  return command
      .add_option_function<std::string>(
          name, [&value, words](std::string const& word) { value = words.at(word); }, help)
      ->check(CLI::IsMember(words).description(""))
      ->type_name(list);
}

}  // namespace tool
