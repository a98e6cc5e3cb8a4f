#include "predict/constants_file.hpp"

#include "files/json_files.hpp"
#include "predict/embedded.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <utility>

namespace tool {

namespace {

constexpr char const* run_kind_names[ashlar::cost::run_kind_count] = {
    "sharded",       "classic",       "plain",          "experts",
    "dense, 4 bits", "dense, 8 bits", "dense, 16 bits", "dense, 32 bits"};

// Reads on which machines, and up to which sizes, runs were measured.
void read_measured(json_reader const& read, nlohmann::json const& measured, fitted_constants& made) {
  using ashlar::cost::measured_sizes;
  for (auto const& [name, runs] : read.object(read.at(measured, "machines"), "machines").items())
    if (read.whole(runs, name.c_str(), 0, 1'000'000) > 0) made.measured_machines.push_back(name);
  for (auto const& [name, size] :
       {std::pair{"sequence", &measured_sizes::sequence}, std::pair{"devices", &measured_sizes::devices},
        std::pair{"pipeline", &measured_sizes::pipeline}, std::pair{"tensor", &measured_sizes::tensor},
        std::pair{"context", &measured_sizes::context}, std::pair{"expert", &measured_sizes::expert}})
    made.around.largest.*size =
        static_cast<int>(read.whole(read.at(measured, name), name, 1, 1'000'000'000));
}

fitted_constants constants_of(json_text const& text) {
  json_reader const read(text);
  fitted_constants made;
  nlohmann::json const& values = read.object(read.at(text.root(), "constants"), "constants");
  for (ashlar::cost::named_constant const& each : ashlar::cost::constant_names) {
    nlohmann::json const& found = read.at(values, each.name);
    nlohmann::json const& value = found.is_object() ? read.at(found, "value") : found;
    made.values.*each.value = read.number(value, each.name, 1e-12, each.is_share ? 1.0 : 1e12);
  }
  nlohmann::json const& intervals = read.object(read.at(text.root(), "intervals"), "intervals");
  auto const spread_of = [&](nlohmann::json const& found) {
    ashlar::cost::spread s;
    s.low = read.number(read.at(found, "low"), "low", 1e-3, 1);
    s.high = read.number(read.at(found, "high"), "high", 1, 1e3);
    s.runs = static_cast<int>(read.whole(read.at(found, "from"), "from", 0, 1'000'000));
    return s;
  };
  for (std::size_t kind = 0; kind < made.around.steps.size(); ++kind)
    for (std::size_t many = 0; many < 2; ++many) {
      std::string const name =
          fmt::format("{}, {}", run_kind_names[kind], many == 0 ? "one node" : "several nodes");
      made.around.steps[kind][many] = spread_of(read.at(intervals, name.c_str()));
    }
  if (text.root().contains("measured")) read_measured(read, text.root()["measured"], made);
  if (!text.root().contains("peaks")) return made;
  nlohmann::json const& peaks = read.object(read.at(text.root(), "peaks"), "peaks");
  for (std::size_t kind = 0; kind < made.around.peaks.size(); ++kind)
    if (peaks.contains(run_kind_names[kind]))
      made.around.peaks[kind] = spread_of(peaks.at(run_kind_names[kind]));
  return made;
}

}  // namespace

fitted_constants own_constants() {
  return constants_of(json_text_of(embedded_constants(), "constants.json"));
}

fitted_constants read_constants(std::string const& path) {
  json_text const text = read_json_text(path);
  fitted_constants made = constants_of(text);
  if (text.root().contains("measured")) return made;
  fitted_constants const own = own_constants();  // earlier files do not say it
  made.measured_machines = own.measured_machines;
  made.around.largest = own.around.largest;
  return made;
}

char const* name_of(ashlar::cost::run_kind kind) {
  return run_kind_names[static_cast<std::size_t>(kind)];
}

}  // namespace tool
