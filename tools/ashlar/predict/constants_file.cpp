#include "predict/constants_file.hpp"

#include "files/json_files.hpp"
#include "predict/embedded.hpp"
#include "predict/names.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <limits>
#include <utility>

namespace tool {

namespace {

constexpr char const* run_kind_names[ashlar::cost::run_kind_count] = {
    "sharded",       "classic",       "plain",          "experts",
    "dense, 4 bits", "dense, 8 bits", "dense, 16 bits", "dense, 32 bits"};

constexpr ashlar::cost::family families[] = {ashlar::cost::family::ampere, ashlar::cost::family::hopper,
                                             ashlar::cost::family::blackwell,
                                             ashlar::cost::family::blackwell_ultra};

// Reads on which machines, and up to which sizes, runs were measured.
void read_measured(json_reader const& read, nlohmann::json const& measured, fitted_constants& made) {
  nlohmann::json const& kernels = read.object(read.at(measured, "kernels"), "kernels");
  for (ashlar::cost::family of : families)
    for (int bits : {4, 8, 16, 32})
      for (bool has_experts : {false, true}) {
        ashlar::cost::measured_kernels const k{of, bits, has_experts};
        if (kernels.contains(words_for(k))) made.around.kernels.push_back(k);
      }
  using ashlar::cost::measured_sizes;
  for (auto const& [name, runs] : read.object(read.at(measured, "machines"), "machines").items())
    if (read.whole(runs, name.c_str(), 0, 1'000'000) > 0) made.measured_machines.push_back(name);
  for (auto const& [name, size] :
       {std::pair{"sequence", &measured_sizes::sequence}, std::pair{"devices", &measured_sizes::devices},
        std::pair{"pipeline", &measured_sizes::pipeline}, std::pair{"tensor", &measured_sizes::tensor},
        std::pair{"context", &measured_sizes::context}, std::pair{"expert", &measured_sizes::expert}})
    made.around.largest.*size =
        static_cast<int>(read.whole(read.at(measured, name), name, 1, 1'000'000'000));
  made.around.host_link = measured.contains("host_link")
                              ? read.number(measured.at("host_link"), "host_link", 0, 1e18)
                              : std::numeric_limits<double>::infinity();
}

// Reads the spreads of errors by kind of run; a kind without runs may be absent.
void read_spreads(json_reader const& read, nlohmann::json const& found,
                  ashlar::cost::spread_table& made) {
  made.low = read.number(read.at(found, "low"), "low", -100, 0);
  made.high = read.number(read.at(found, "high"), "high", 0, 100);
  made.beyond = read.number(read.at(found, "beyond"), "beyond", 0, 10);
  nlohmann::json const& kinds = read.object(read.at(found, "kinds"), "kinds");
  for (std::size_t kind = 0; kind < made.kinds.size(); ++kind) {
    if (!kinds.contains(run_kind_names[kind])) continue;
    nlohmann::json const& of = kinds.at(run_kind_names[kind]);
    ashlar::cost::spread& s = made.kinds[kind];
    s.within = read.number(read.at(of, "within"), "within", 0, 10);
    s.between = read.number(read.at(of, "between"), "between", 0, 10);
    s.runs = static_cast<int>(read.whole(read.at(of, "runs"), "runs", 0, 1'000'000));
    s.sources = static_cast<int>(read.whole(read.at(of, "sources"), "sources", 0, 1'000'000));
    if (of.contains("own_runs"))
      s.own_runs = static_cast<int>(read.whole(of.at("own_runs"), "own_runs", 0, 1'000'000));
  }
}

std::size_t constant_named(json_reader const& read, nlohmann::json const& where,
                           std::string const& name) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < ashlar::cost::constant_count; ++i) {
    known.emplace_back(ashlar::cost::constant_names[i].name);
    if (name == known.back()) return i;
  }
  read.fail(where, fmt::format("\"{}\" is no constant{}", name.substr(0, 64),
                               did_you_mean(name.substr(0, 64), known)));
}

void read_values(json_reader const& read, nlohmann::json const& values, fitted_constants& made) {
  for (auto const& [name, found] : values.items()) {
    std::size_t const i = constant_named(read, values, name);
    ashlar::cost::named_constant const& each = ashlar::cost::constant_names[i];
    nlohmann::json const& value = found.is_object() ? read.at(found, "value") : found;
    made.values.*each.value = read.number(value, each.name, 1e-12, each.is_share ? 1.0 : 1e12);
    if (found.is_object() && found.contains("spread"))
      made.spread[i] = read.number(found.at("spread"), "spread", 0, 10);
  }
}

// Reads how far constants are known after runs of one's own.
void read_doubts(json_reader const& read, nlohmann::json const& found,
                 ashlar::cost::constant_doubts& made) {
  for (nlohmann::json const& name : read.list(read.at(found, "constants"), "constants"))
    made.of.push_back(constant_named(read, name, read.text(name, "constants")));
  for (nlohmann::json const& each : read.list(read.at(found, "covariance"), "covariance"))
    made.covariance.push_back(read.number(each, "covariance", -100, 100));
  if (made.covariance.size() != made.of.size() * made.of.size())
    read.fail(found, "\"covariance\" must have a number for each pair of constants");
}

fitted_constants constants_of(json_text const& text, fitted_constants made) {
  json_reader const read(text);
  nlohmann::json const& root = text.root();
  read_values(read, read.object(read.at(root, "constants"), "constants"), made);
  if (root.contains("doubts")) read_doubts(read, root.at("doubts"), made.around.doubts);
  if (!root.contains("steps")) return made;
  made.measured_machines.clear();
  made.around.kernels.clear();
  made.around.steps = made.around.peaks = {};
  read_spreads(read, read.at(root, "steps"), made.around.steps);
  read_spreads(read, read.at(root, "peaks"), made.around.peaks);
  read_measured(read, read.at(root, "measured"), made);
  return made;
}

}  // namespace

std::string words_for(ashlar::cost::measured_kernels const& k) {
  constexpr char const* names[] = {"Ampere", "Hopper", "Blackwell", "Blackwell Ultra"};
  return fmt::format("{}, {} bits, {}", names[static_cast<std::size_t>(k.device)], k.bits,
                     k.has_experts ? "experts" : "dense");
}

fitted_constants own_constants() {
  return constants_of(json_text_of(embedded_constants(), "constants.json"), {});
}

fitted_constants read_constants(std::string const& path) {
  return constants_of(read_json_text(path), own_constants());
}

char const* name_of(ashlar::cost::run_kind kind) {
  return run_kind_names[static_cast<std::size_t>(kind)];
}

}  // namespace tool
