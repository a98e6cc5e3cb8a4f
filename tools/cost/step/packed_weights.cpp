#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/step/packed_weights.hpp>

namespace ashlar::cost {

namespace packed_detail {

inline constexpr double block = 64, block_of_scales = 256;

// Bytes of the scales of a matrix.
inline double scales(adapters const& lora, double weights, double rows) {
  if (lora.frozen == packing::bits_8) return 4 * rows;
  double const blocks = weights / block;
  return lora.packs_scales ? blocks + 4 * blocks / block_of_scales : 4 * blocks;
}

}  // namespace packed_detail

packed_weights packed_matrix(adapters const& lora, double weights, double rows) {
  return {.weights = weights,
          .codes = (lora.frozen == packing::bits_8 ? 1 : 0.5) * weights,
          .scales = packed_detail::scales(lora, weights, rows),
          .largest = weights};
}

packed_weights packed_in(architecture const& a, layer const& l, double tensor) {
  packed_weights all;
  if (!a.lora.pack()) return all;
  for (auto const& part : {matrices_of(a, l.mix, every_matrix), matrices_of(a, l.feed, every_matrix)})
    for (adapted_matrix const& each : part)
      all.add(packed_matrix(a.lora, each.in * each.out / tensor, each.out / tensor));
  return all;
}

unpacking_bytes unpacking_of(adapters const& lora, double m, double n, double k, double value) {
  if (!lora.pack()) return {};
  double const weights = n * k, scales = packed_detail::scales(lora, weights, n);
  if (lora.frozen == packing::bits_4) {
    double const moved = (0.5 + value) * weights + scales;
    return {moved, moved};
  }
  return {(value + 1) * m * k + 2 * 4 * m * n, (1 + 3 * value) * weights + scales};
}

}  // namespace ashlar::cost
