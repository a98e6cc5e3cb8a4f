<<<<<<< HEAD
// Files that are part of the program: data sheets of machines, models by name, constants, defaults of
// models' keys, and a text to train on.
=======
// Files that are part of the program: data sheets of machines, models by name, constants, and the keys
// of models' types with their defaults.
>>>>>>> c56d54dc (Models are read by their own code, and keys that transformers ignores refuse no file)
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
<<<<<<< HEAD
char const* embedded_text();  // the licence
=======
char const* embedded_keys_of_types();
>>>>>>> c56d54dc (Models are read by their own code, and keys that transformers ignores refuse no file)

}  // namespace tool
