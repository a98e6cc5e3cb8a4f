#include "files/profile_files.hpp"

#include "command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace tool {

bool is_folder(std::string const& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::vector<json_text> read_json_texts(std::string const& path) {
  std::vector<json_text> texts;
  if (!is_folder(path)) {
    texts.push_back(read_json_text(path));
    return texts;
  }
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    std::string const name = at->path().string();
    if (name.ends_with(".json.gz"))
      throw usage_error(fmt::format("'{}' is compressed: gunzip it first", name));
    if (name.ends_with(".json")) names.push_back(name);
  }
  if (error) throw usage_error(fmt::format("cannot read '{}': {}", path, error.message()));
  if (names.empty()) throw usage_error(fmt::format("the folder '{}' has no file *.json", path));
  std::sort(names.begin(), names.end());
  for (std::string const& name : names) texts.push_back(read_json_text(name));
  return texts;
}

}  // namespace tool
