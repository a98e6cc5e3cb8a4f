// Latencies and sizes of models.
#include "../csv.hpp"
#include "llmpq.hpp"

#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace llmpq {

using ashlar::byte_count;

latency_table::latency_table(std::string const& folder) {
  for (auto const& file : std::filesystem::directory_iterator(folder)) {
    std::string const name = file.path().filename().string();
    if (!name.starts_with("layer_latency") || !name.ends_with(".csv")) continue;
    for (systems::csv_row const& row : systems::read_csv(file.path().string()))
      rows_[{row.at("gpu"), row.at("phase"), std::stoi(row.at("bits"))}].try_emplace(
          std::stoi(row.at("batch")), std::stod(row.at("latency_ms_per_layer")));
  }
}

bool latency_table::has(latency_key const& key, int batch) const {
  auto const found = rows_.find(key);
  return found != rows_.end() && found->second.contains(batch);
}

double latency_table::ms(latency_key const& key, int batch) const {
  auto const found = rows_.find(key);
  if (found == rows_.end())
    throw std::runtime_error("no latency of " + key.device + ", " + key.phase + ", "
                             + std::to_string(key.bits) + " bits");
  std::map<int, double> const& by_batch = found->second;
  auto high = by_batch.lower_bound(batch);
  if (high != by_batch.end() && high->first == batch) return high->second;
  bool const is_beyond = high == by_batch.end() || high == by_batch.begin();
  if (high == by_batch.end()) --high;
  if (key.phase == "prefill" && is_beyond) return high->second * batch / high->first;
  if (by_batch.size() == 1) return high->second;
  if (high == by_batch.begin()) ++high;
  auto const low = std::prev(high);
  return low->second + (high->second - low->second) * (batch - low->first) / (high->first - low->first);
}

double latency_table::assumed_ms(latency_key const& key, int batch) const {
  if (rows_.contains(key)) return ms(key, batch);
  bool const is_prefill = key.phase == "prefill";
  latency_key const of_v100{"V100", key.phase, key.bits};
  if (key.device == "P100")
    return ms({"P100", key.phase, 16}, batch) * ms(of_v100, batch) / ms({"V100", key.phase, 16}, batch);
  if (key.device == "A100") return ms(of_v100, batch) * (is_prefill ? 125.0 / 312 : 900.0 / 1555);
  if (key.device == "A100-80GB") return ms(of_v100, batch) * (is_prefill ? 125.0 / 312 : 900.0 / 2039);
  return ms(key, batch);
}

namespace {

std::vector<model> const& opt() {  // all have 50272 tokens
  static std::vector<model> const all{
      {40, 5120, 50272}, {48, 7168, 50272}, {64, 9216, 50272}, {96, 12288, 50272}};
  return all;
}

}  // namespace

bool has_opt(int layers) {
  for (model const& m : opt())
    if (m.layers == layers) return true;
  return false;
}

model opt_of(int layers) {
  for (model const& m : opt())
    if (m.layers == layers) return m;
  throw std::runtime_error("no OPT of " + std::to_string(layers) + " layers is known");
}

model bloom_of(std::string const& name) {
  static std::map<std::string, model> const all{
      {"bloom-560m", {24, 1024, 250880}}, {"bloom-1b1", {24, 1536, 250880}},
      {"bloom-1b7", {24, 2048, 250880}},  {"bloom-3b", {30, 2560, 250880}},
      {"bloom-7b1", {30, 4096, 250880}},  {"bloom", {70, 14336, 250880}}};
  auto const found = all.find(name);
  if (found == all.end()) throw std::runtime_error("unknown model " + name);
  return found->second;
}

byte_count layer_bytes(model const& m, int bits) {
  return 12 * m.width * m.width * bits / 8 + 4 * m.width;
}
byte_count cache_bytes(model const& m, int batch, int tokens) { return 4 * m.width * batch * tokens; }
byte_count ends_bytes(model const& m) { return 4 * m.vocabulary * m.width + 4 * m.width; }

bool is_sum_of_layers(model const& m, byte_count bytes) {
  byte_count const norm = layer_bytes(m, 0), of_a_bit = layer_bytes(m, 1) - norm,
                   rest = bytes - m.layers * norm;
  if (rest < 0 || rest % of_a_bit != 0) return false;
  static constexpr std::size_t widths[] = {3, 4, 8, 16};
  std::vector<bool> reached(static_cast<std::size_t>(16 * m.layers + 1), false);
  reached[0] = true;
  for (int layer = 0; layer < m.layers; ++layer) {
    std::vector<bool> next(reached.size(), false);
    for (std::size_t sum = 0; sum < reached.size(); ++sum)
      for (std::size_t bits : widths)
        if (reached[sum] && sum + bits < next.size()) next[sum + bits] = true;
    reached = std::move(next);
  }
  auto const sum = static_cast<std::size_t>(rest / of_a_bit);
  return sum < reached.size() && reached[sum];
}

}  // namespace llmpq
