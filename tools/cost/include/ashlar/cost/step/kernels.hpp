// Seconds of products, attention, scans and memory-bound kernels on one device.
#pragma once

#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/work.hpp>

#include <vector>

namespace ashlar::cost {

// Seconds of a forward and of its backward.
struct seconds_each_way {
  double forward = 0, backward = 0;
  double weights = 0;  // the backward's share for gradients of weights
};

// Operations per second that large products reach: peak x share x (watts / full)^power, the last on
// Hopper and Blackwell, where boards of less power are published. A format without published runs takes
// the share of the nearest one that has some.
double product_rate(machine const& m, number_format f, constants const& c);

// Bytes per second of memory-bound kernels.
inline double memory_rate(machine const& m, constants const& c) { return m.memory_bandwidth * c.memory; }

// products: count x (2 k (m n + 64 n [experts] + wave x 128 x 256 x units) / rate
//                    + traffic x (out_bytes m n + 2 k (m + n)) / memory)
// A wave of tiles does not fill the device, once for products that are one kernel, and each expert's
// last tile of 128 rows is half empty.
double product_seconds(machine const& m, double rate, product const& p, double out_bytes,
                       constants const& c);

// A backward has two products for each: one for gradients of inputs, one for gradients of weights.
seconds_each_way products_seconds(question const& q, std::vector<product> const& all,
                                  constants const& c);

// attention: scores (1 + 128 / s) (4 head / (peak x attention) + 1 / exponentials), backward 10 head. A
// causal mask halves the counted scores, with whole tiles of 128 on the diagonal. On Hopper the share of
// the peak depends on the kernel; elsewhere all fused kernels have one. Unfused, all scores count, and
// each is moved 5.5 and 7 times (softmax, mask, dropout).
seconds_each_way attention_seconds(question const& q, layer_work const& w, constants const& c);

// bytes: moved / memory, with 6 bytes (delayed scales: 4, MXFP8 and blocks: 4.06, NVFP4: 5.13) per
// element cast to a low format: read for the cast, for the maximum unless each block has its own or it
// is that of earlier steps, and written both ways round with scales.
seconds_each_way bytes_seconds(question const& q, layer_work const& w, constants const& c);

// scan: scan_bytes x channels x tokens / memory, a third of it forward.
seconds_each_way scan_seconds(machine const& device, layer_work const& w, constants const& c);

}  // namespace ashlar::cost
