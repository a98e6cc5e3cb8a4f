#include "files/trace_file.hpp"

#include "files/profile_files.hpp"
#include "options/memory_cap.hpp"
#include <ashlar/interop/json_profile.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace tool {

trace_file read_trace(std::string const& path) {
  std::vector<json_text> const texts = read_json_texts(path);
  if (texts.size() > 1 || ashlar::is_json_profile(texts.front()))
    return {ashlar::timeline_of_profiles(texts), path};
  json_text const& source = texts.front();
  nlohmann::json const& root = source.root();
  auto const events =
      root.is_object() && root.contains("traceEvents") ? root["traceEvents"].size() : root.size();
  must_fit_in_memory(fmt::format("the events of '{}'", path), static_cast<double>(events));
  return {ashlar::read_json_trace(source), path};
}

}  // namespace tool
