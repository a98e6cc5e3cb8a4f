// The arguments that Megatron-LM's own parser takes, by the table that the Python package reads, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

struct megatron_flag {
  std::string name;                  // the first that the parser has, with underscores
  std::size_t most = 0;              // words behind it, at most
  std::vector<std::string> choices;  // the words that the parser takes; empty: any

  bool takes(std::string const& word) const;
};

// `name`: with underscores. Returns nullptr for an argument that the parser does not have.
megatron_flag const* find_megatron_flag(std::string_view name);

// Whether a function outside of Megatron-Core makes the layers: the value of --spec.
bool is_foreign_spec(std::string_view spec);

}  // namespace tool
