// Pictures that are kept in files.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

inline std::string file_text(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline std::string picture_file(std::string const& name) {
  return file_text(std::string(ASHLAR_TEST_DATA) + "/pictures/" + name);
}
