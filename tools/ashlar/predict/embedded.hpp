// Files that are part of the program: data sheets of machines, models by name, constants, the keys of
// models' types with their defaults, arguments of Megatron-LM, and a text to train on.
#pragma once

#include <vector>

namespace tool {

struct embedded_file {
  char const* name;  // without folder and .json
  char const* text;
};

std::vector<embedded_file> const& embedded_machines();
std::vector<embedded_file> const& embedded_models();
char const* embedded_constants();
char const* embedded_defaults();
char const* embedded_text();  // the licence
char const* embedded_keys_of_types();
char const* embedded_types_of_own_code();
char const* embedded_megatron_flags();
char const* embedded_megatron_names();  // what names of programs and arguments tell

}  // namespace tool
