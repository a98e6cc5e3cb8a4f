#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/kernels.hpp>

#include <cmath>

namespace ashlar::cost {

namespace kernels_detail {

inline double product_share(machine const& m, number_format f, constants const& c) {
  int const bits = bits_of(f);
  if (bits == 32) return c.products_hopper_32;
  switch (m.like()) {
    case family::ampere:
      return c.products_ampere_16;
    case family::hopper:
      return bits == 16 ? c.products_hopper_16 : c.products_hopper_8;
    case family::blackwell:
      return bits == 16  ? c.products_blackwell_16
             : bits == 8 ? c.products_blackwell_8
                         : c.products_blackwell_4;
    case family::blackwell_ultra:
      return bits == 16 ? c.products_ultra_16 : bits == 8 ? c.products_ultra_8 : c.products_ultra_4;
  }
  return 0;
}

// Watts of the device of a family whose clock no limit lowers.
inline double full_power(generation g) {
  switch (g) {
    case generation::hopper:
      return 700;
    case generation::blackwell:
      return 1200;
    case generation::blackwell_ultra:
      return 1400;
    default:
      return 0;
  }
}

inline double power_share(machine const& m, constants const& c) {
  double const full = full_power(m.built);
  return m.power < full ? std::pow(m.power / full, c.power) : 1;
}

// FlashAttention 2 was written for Ampere: it does not use Hopper's asynchronous products.
inline double hopper_attention_share(question const& q, constants const& c) {
  stack const s = stack_of(q);
  switch (q.program.attention) {
    case attention_kernel::flash_2:
      return c.attention_hopper_flash;
    case attention_kernel::flash_3:
    case attention_kernel::cudnn:
    case attention_kernel::sdpa:
      return c.attention_hopper;
    default:
      return s.is_tuned                      ? c.attention_hopper
             : s.is_plain || s.is_torchtitan ? c.attention_hopper_flash
                                             : c.attention_hopper_triton;
  }
}

inline double attention_share(question const& q, constants const& c) {
  switch (q.cluster.device().like()) {
    case family::ampere:
      return c.attention_ampere;
    case family::hopper:
      return hopper_attention_share(q, c);
    default:
      return c.attention_blackwell;
  }
}

inline number_format wide_format(number_format format) {
  return format == number_format::fp32 ? number_format::fp32 : number_format::bf16;
}

// Bytes that casts move for each element of an operand. They read 16 bits and write both orientations,
// with a scale of 8 bits for each block. One scale a tensor, and NVFP4's second one, need the largest
// element first, unless it is that of earlier steps. DeepSeek's blocks have scales of 32 bits.
inline double cast_bytes(number_format f, scaling scales) {
  switch (f) {
    case number_format::fp8:
      return scales == scaling::delayed  ? 2 + 2 * 1
             : scales == scaling::blocks ? 2 + 2 * (1 + 4.0 / 128)
                                         : 2 + 2 + 2 * 1;
    case number_format::mxfp8:
      return 2 + 2 * (1 + 1.0 / 32);
    case number_format::nvfp4:
      return 2 + 2 + 2 * (0.5 + 1.0 / 16);
    default:
      return 0;
  }
}

// Bytes moved for each weight's gradient of a micro-batch: just written; added apart from the product;
// or added in 32 bits within it.
inline double gradient_bytes(stack const& s) { return s.is_sharded ? 4 : s.is_plain ? 12 : 8; }

}  // namespace kernels_detail

double product_rate(machine const& m, number_format f, constants const& c) {
  if (m.products > 0) return peak(m, f) / m.products;
  return peak(m, f) * kernels_detail::product_share(m, f, c) * kernels_detail::power_share(m, c);
}

double product_seconds(machine const& m, double rate, product const& p, double out_bytes,
                       constants const& c) {
  constexpr double tile = 128.0 * 256.0;
  double const waves = p.is_one_kernel ? c.wave / p.count : c.wave;
  double const elements = p.m * p.n + (p.count > 1 ? 64 * p.n : 0) + waves * tile * m.units;
  double const moved = out_bytes * p.m * p.n + 2 * p.k * (p.m + p.n);
  return p.count * (2 * p.k * elements / rate + c.traffic * moved / memory_rate(m, c));
}

seconds_each_way products_seconds(question const& q, std::vector<product> const& all,
                                  constants const& c) {
  machine const& m = q.cluster.device();
  double const high = product_rate(m, kernels_detail::wide_format(q.program.format), c);
  double const low = product_rate(m, q.program.format, c);
  double const gradient = kernels_detail::gradient_bytes(stack_of(q));
  seconds_each_way s;
  for (product const& p : all) {
    double const rate = p.is_low ? low : high;
    product inputs = p, weights = p;
    inputs.n = p.k;
    inputs.k = p.n;
    weights.m = p.n;
    weights.n = p.k;
    weights.k = p.m;
    s.forward += product_seconds(m, rate, p, 2, c);
    if (!p.has_backward) continue;
    s.backward += product_seconds(m, rate, inputs, 2, c);
    double const of_weights = product_seconds(m, rate, weights, gradient, c);
    s.backward += of_weights;
    s.weights += of_weights;
  }
  return s;
}

seconds_each_way attention_seconds(question const& q, layer_work const& w, constants const& c) {
  if (!(w.scores > 0)) return {};
  machine const& m = q.cluster.device();
  if (stack_of(q).writes_scores) {
    double const rate = product_rate(m, q.program.format, c),
                 moved = w.all_scores * value_bytes(q.program.format) / memory_rate(m, c);
    return {4 * w.all_scores * w.head / rate + 5.5 * moved,
            8 * w.all_scores * w.head / rate + 7 * moved};
  }
  double const rate =
      peak(m, kernels_detail::wide_format(q.program.format)) * kernels_detail::attention_share(q, c);
  double const scores = w.scores * (1 + 128.0 / q.sequence);
  double const exponentials = scores / m.exponentials;
  return {scores * 4 * w.head / rate + exponentials, scores * 10 * w.head / rate + exponentials};
}

seconds_each_way bytes_seconds(question const& q, layer_work const& w, constants const& c) {
  double const each = kernels_detail::cast_bytes(q.program.format, stack_of(q).facts.scales());
  double const rate = memory_rate(q.cluster.device(), c);
  return {(w.forward_bytes + each * w.quantised_forward) / rate,
          (w.backward_bytes + each * w.quantised_backward) / rate};
}

seconds_each_way scan_seconds(machine const& device, layer_work const& w, constants const& c) {
  double const s = w.scan * c.scan_bytes / memory_rate(device, c);
  return {s / 3, s * 2 / 3};
}

}  // namespace ashlar::cost
