// Frozen matrices in fewer bits: the bytes that they take, and those that using one moves.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/model/architecture.hpp>

namespace ashlar::cost {

// The packed matrices of one device.
struct packed_weights {
  double weights = 0;
  double codes = 0, scales = 0;  // bytes
  double largest = 0;            // weights of the largest matrix, which is unpacked alone

  // Adds other matrices of the device.
  void add(packed_weights const& other) {
    weights += other.weights;
    codes += other.codes;
    scales += other.scales;
    largest = max_of(largest, other.largest);
  }
};

// One matrix, and those of one layer on one of its tensor ranks. Blocks of 64 weights in 4 bits have a
// scale of 32 bits, or of 8 with one of 32 bits for 256 of them; rows of weights in 8 bits have one
// of 32.
packed_weights packed_matrix(adapters const& lora, double weights, double rows);
packed_weights packed_in(architecture const& a, layer const& l, double tensor);

// Bytes that a product of m rows and a packed n x k matrix moves beside its own operands.
struct unpacking_bytes {
  double forward = 0, backward = 0;
};
// A matrix in 4 bits is unpacked to values of this size in each pass. In 8 bits, the forward packs its
// input and scales its 32-bit results; the backward unpacks, and multiplies by the scales in a kernel of
// its own (MatMul4Bit and MatMul8bitLt of bitsandbytes 0.50).
unpacking_bytes unpacking_of(adapters const& lora, double m, double n, double k, double value);

}  // namespace ashlar::cost
