#include "files/trace_file.hpp"

#include "files/json_files.hpp"
#include "options/limits.hpp"
#include "options/memory_cap.hpp"
#include <ashlar/interop/pass_token.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tool {

namespace {

using nlohmann::json;

class trace_reader : json_reader {
 public:
  explicit trace_reader(json_text const& source) : json_reader(source) {}

  trace_file read() const {
    json const& all = source_.root.is_object() ? at(source_.root, "traceEvents") : source_.root;
    list(all, "traceEvents");
    must_fit_in_memory(fmt::format("the events of '{}'", source_.path), static_cast<double>(all.size()));
    trace_file file{.path = source_.path, .events = {}};
    auto first = std::numeric_limits<std::int64_t>::max();
    for (json const& event : all) {
      if (at(event, "ph") != json("X")) continue;
      trace_event& e = file.events.emplace_back(read(event));
      file.device_count = std::max(file.device_count, e.device + 1);
      if (e.what) first = std::min(first, e.start);
    }
    if (first == std::numeric_limits<std::int64_t>::max()) fail(all, "there is no pass");
    for (trace_event& e : file.events) {
      e.start -= first;
      e.end -= first;
    }
    return file;
  }

 private:
  double number_in(json const& event, char const* key, double least, double most) const {
    return number(at(event, key), key, least, most);
  }
  trace_event read(json const& event) const {
    constexpr double most_us = 1e12;  // eleven days
    double const start = number_in(event, "ts", -most_us, most_us),
                 length = number_in(event, "dur", 0, most_us);
    trace_event e{.device = static_cast<int>(number_in(event, "pid", 0, most_devices * 100.0)),
                  .lane = static_cast<int>(number_in(event, "tid", 0, most_devices * 100.0)),
                  .name = text(at(event, "name"), "name"),
                  .start = std::llround(1e3 * start),
                  .end = std::llround(1e3 * (start + length)),
                  .what = std::nullopt};
    e.what = ashlar::read_pass(e.name);
    return e;
  }
};

}  // namespace

trace_file read_trace(std::string const& path) {
  json_text const source = read_json_text(path);
  return trace_reader(source).read();
}

}  // namespace tool
