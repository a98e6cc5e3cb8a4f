// How large the slots of a device must be.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/operands.hpp>

#include <cstdint>
#include <vector>

namespace ashlar {

// The bytes of the largest value ever written into each slot of a device. bytes(value_key) is the size
// of a value. The program must be proved. Linear in its operands.
template <class Bytes>
constexpr std::vector<std::int64_t> slot_sizes(program_view const& p, int device, Bytes bytes) {
  program_shape shape(p);
  shape.add_all();
  std::vector<std::int64_t> sizes(p.slots_of(device).size(), 0);
  for (instruction const& i : p.stream(device)) {
    operand const* next = p.operands_of(i).begin();
    for_each_operand(shape, device, i, [&](value_key const& v, access how, int) {
      std::int64_t& size = nth(sizes, (next++)->slot);
      if (how == access::read) return;
      auto const need = static_cast<std::int64_t>(bytes(v));
      size = need > size ? need : size;
    });
  }
  return sizes;
}

}  // namespace ashlar
