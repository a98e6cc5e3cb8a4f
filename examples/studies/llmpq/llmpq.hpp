// The data of LLM-PQ: latencies of layers, sizes of models, logged runs.
#pragma once

#include "../report.hpp"
#include <ashlar/core/cost.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <string>

namespace llmpq {

constexpr double ticks_per_ms = 1e6;
inline ashlar::tick ticks_of(double ms) {
  return static_cast<ashlar::tick>(std::llround(ms * ticks_per_ms));
}
inline double ms_of(ashlar::tick t) { return static_cast<double>(t) / ticks_per_ms; }

struct latency_key {
  std::string device, phase;
  int bits = 16;

  friend auto operator<=>(latency_key const&, latency_key const&) = default;
};

// Milliseconds of one layer of OPT-30B, from layer_latency_*.csv: the first of several measurements.
class latency_table {
 public:
  latency_table() = default;
  explicit latency_table(std::string const& folder);

  bool has(latency_key const& key, int batch) const;
  // Interpolates on the line between two batches. Beyond all, it is proportional in the prefill, else on
  // the line through the last two, or the same. Throws std::runtime_error if the table lacks the key.
  double ms(latency_key const& key, int batch) const;
  // Also covers devices and widths that were not measured, by assumption: a P100 differs between widths
  // as a V100 does, and an A100 from a V100 as their peaks do, of tensor cores in the prefill (312 to
  // 125 TFLOP/s) and of memory in decoding (1555 or, with 80 GB, 2039 to 900 GB/s).
  double assumed_ms(latency_key const& key, int batch) const;

 private:
  std::map<latency_key, std::map<int, double>> rows_;  // by batch
};

struct model {
  int layers = 0;
  ashlar::byte_count width = 0;
  ashlar::byte_count vocabulary = 0;
};

// Whether the number of layers identifies a model of OPT.
bool has_opt(int layers);
model opt_of(int layers);
model bloom_of(std::string const& name);

// Bytes of a layer with weights of `bits` bits, 12 width^2, and one norm in 16.
ashlar::byte_count layer_bytes(model const& m, int bits);
// Keys and values of a layer in 16 bits.
ashlar::byte_count cache_bytes(model const& m, int batch, int tokens);
// Embedding and head in 16 bits, and a norm.
ashlar::byte_count ends_bytes(model const& m);
// Whether all layers, each in 3, 4, 8 or 16 bits, can add up to `bytes`.
bool is_sum_of_layers(model const& m, ashlar::byte_count bytes);

// Prints the predicted and the logged throughput of every measured plan, and how well the one ranks the
// other.
void compare_with_log(std::string const& folder, latency_table const& table, systems::report& r);

}  // namespace llmpq
