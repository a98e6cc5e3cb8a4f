// The words of a script that are arguments of Megatron-LM.
#pragma once

#include "predict/shell_script.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tool {

// "--num-layers" and "num_layers" both become num_layers.
std::string with_underscores(std::string_view name);

bool is_argument(std::string_view word);

// "--fp8-format hybrid" in one pair of quotes is two words; so are the lines that a shell is given.
std::vector<std::string> parted(std::vector<std::string> const& words);

// Returns the words of the one command that trains, from its program on; in a file without one, those of
// each line. `path`: for messages. Throws usage_error where a condition decides, or several commands
// train.
std::vector<std::vector<std::string>> training_words(shell_script const& script,
                                                     std::string const& path);

// The first line of a file's text that has this argument, from 1 on; 0 if none has it as it stands.
// `name`: with underscores.
int line_of_argument(std::string_view text, std::string_view name);

}  // namespace tool
