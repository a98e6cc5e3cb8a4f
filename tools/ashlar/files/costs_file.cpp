#include "files/costs_file.hpp"

#include "files/profile_files.hpp"
#include "report/printed.hpp"
#include <ashlar/interop/json_profile.hpp>

#include <fmt/core.h>

#include <cstdio>

namespace tool {

costs_file read_costs(std::string const& path) {
  std::vector<json_text> const texts = read_json_texts(path);
  if (texts.size() == 1 && !ashlar::is_json_profile(texts.front()))
    return {ashlar::read_json_costs(texts.front()), path};
  ashlar::json_profiled_costs const made = ashlar::costs_of_profiles(texts);
  for (std::string const& sentence : made.warnings)
    fmt::print(stderr, "note: '{}': {}\n", printable(path), printable(sentence));
  return {ashlar::read_json_costs(made.costs.dump(), path), path};
}

}  // namespace tool
