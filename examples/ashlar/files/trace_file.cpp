#include "files/trace_file.hpp"

#include "files/json_files.hpp"
#include "options/memory_cap.hpp"

#include <fmt/core.h>

namespace tool {

trace_file read_trace(std::string const& path) {
  json_text const source = read_json_text(path);
  nlohmann::json const& root = source.root;
  auto const events =
      root.is_object() && root.contains("traceEvents") ? root["traceEvents"].size() : root.size();
  must_fit_in_memory(fmt::format("the events of '{}'", path), static_cast<double>(events));
  return {ashlar::read_json_trace(source), path};
}

}  // namespace tool
