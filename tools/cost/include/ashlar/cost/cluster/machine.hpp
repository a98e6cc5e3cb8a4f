// The data sheet of one device and its links.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar::cost {

// Generations of GPUs, by their makers' names.
enum class generation : unsigned char {
  volta,
  ampere,
  ada,
  hopper,
  blackwell,
  blackwell_ultra,
  cdna2,
  cdna3,
  cdna4
};

// Families of generations whose kernels reach similar shares of the peak. Runs of these four are
// published; other generations take the shares of the most similar one.
enum class family : unsigned char { ampere, hopper, blackwell, blackwell_ultra };

// The family whose fitted constants hold for the generation.
constexpr family family_of(generation g) {
  switch (g) {
    case generation::hopper:
    case generation::cdna3:
      return family::hopper;
    case generation::blackwell:
    case generation::cdna4:
      return family::blackwell;
    case generation::blackwell_ultra:
      return family::blackwell_ultra;
    default:
      return family::ampere;
  }
}

// Formats of the operands of products.
enum class number_format : unsigned char { bf16, fp16, fp32, fp8, mxfp8, nvfp4 };

// Bits of an element, without its share of a scale.
constexpr int bits_of(number_format f) {
  switch (f) {
    case number_format::fp32:
      return 32;
    case number_format::fp8:
    case number_format::mxfp8:
      return 8;
    case number_format::nvfp4:
      return 4;
    default:
      return 16;
  }
}

// Whether elements have fewer than 16 bits.
constexpr bool is_low(number_format f) { return bits_of(f) < 16; }

// Dense operations per second; 0: the device has no such products.
struct peak_rates {
  double fp32 = 0, tf32 = 0, fp16 = 0, bf16 = 0, fp8 = 0, fp4 = 0;

  friend constexpr bool operator==(peak_rates const&, peak_rates const&) = default;
};

// A device's share of its host. Zeros: the host is unknown, and nothing is offloaded.
struct host_side {
  double link = 0;  // bytes a second that copies reach, each way
  double memory_bytes = 0;
  double memory_bandwidth = 0;  // bytes a second

  bool is_known() const { return link > 0; }

  friend constexpr bool operator==(host_side const&, host_side const&) = default;
};

// A kind of device. Sizes are bytes, bandwidths bytes per second.
struct machine {
  generation built = generation::hopper;
  peak_rates peak;
  double memory_bytes = 0;
  double memory_bandwidth = 0;  // bytes a second, as all bandwidths
  double inside = 0;            // of one device in each direction, within its domain
  double pair = 0;              // to one device of the domain, where links join pairs; 0: as `inside`
  double outside = 0;           // to other domains
  int domain = 8;               // devices that the fast link joins
  int per_node = 8;
  double units = 0;         // multiprocessors
  double exponentials = 0;  // a second
  double power = 0;         // watts
  host_side host = {};
  // Seconds that products, and exchanges inside a domain, take for each second at these figures, where
  // that was measured; 0: the shares of the figures are the fitted ones.
  double products = 0, exchange = 0;
  // Published runs on such devices are known; errors of predictions come from those.
  bool is_measured = false;

  family like() const { return family_of(built); }

  friend constexpr bool operator==(machine const&, machine const&) = default;
};

// Whether the device has products in this format. Scales of blocks (MXFP8) came with Blackwell and CDNA
// 4, NVFP4 with Blackwell alone: CDNA 4 has another format of 4 bits.
constexpr bool has_products(machine const& m, number_format f) {
  switch (f) {
    case number_format::bf16:
      return m.peak.bf16 > 0;
    case number_format::fp16:
      return m.peak.fp16 > 0;
    case number_format::fp32:
      return m.peak.fp32 > 0 || m.peak.tf32 > 0;
    case number_format::fp8:
      return m.peak.fp8 > 0;
    case number_format::mxfp8:
      return m.peak.fp8 > 0
             && (m.peak.fp4 > 0 || m.like() == family::blackwell || m.like() == family::blackwell_ultra);
    case number_format::nvfp4:
      return m.peak.fp4 > 0 && m.built != generation::cdna4;
  }
  return false;
}

// Operations per second of products in this format, or in the nearest wider one that the device has.
constexpr double peak(machine const& m, number_format f) {
  peak_rates const& p = m.peak;
  if (f == number_format::fp32) return p.tf32 > 0 ? p.tf32 : p.fp32;
  if (f == number_format::nvfp4 && p.fp4 > 0) return p.fp4;
  if (is_low(f) && p.fp8 > 0) return p.fp8;
  return p.bf16 > 0 ? p.bf16 : p.fp16;
}

}  // namespace ashlar::cost
