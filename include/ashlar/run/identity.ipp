// Definitions of identity.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/version.hpp>
#include <ashlar/program/hash.hpp>
#include <ashlar/run/identity.hpp>

#include <cstddef>

namespace ashlar {

ASHLAR_INLINE identity identity_of(program_view const& p, layout_function layout) {
  identity mine{.program = hash(p),
                .devices = p.device_count,
                .stages = p.stage_count,
                .micro_batches = p.micro_batch_count,
                .ranks = p.data_ranks,
                .instructions = static_cast<int>(p.instructions.size())};
  static_assert(sizeof version <= sizeof mine.version);
  for (std::size_t i = 0; i < sizeof version; ++i) mine.version[i] = version[i];
  hasher h;
  program_shape shape(p);
  shape.add_all();
  for (int d = 0; d < p.device_count; ++d)
    for (instruction const& i : p.stream(d))
      for_each_operand(shape, d, i, [&](value_key const& v, access, int) {
        value_layout const l = layout_on(p, 0, v, layout);
        h.add_all(l.bytes, l.alignment, l.element);
      });
  mine.layouts = h.value();
  return mine;
}

ASHLAR_INLINE std::string to_string(identity const& one) {
  auto const hex = [](std::uint64_t number) {
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[number >> shift & 15];
    return digits;
  };
  return std::string("version ") + one.version + ", " + std::to_string(one.devices) + " devices, "
         + std::to_string(one.stages) + " stages, " + std::to_string(one.micro_batches)
         + " micro-batches, " + std::to_string(one.ranks) + " data-parallel ranks, "
         + std::to_string(one.instructions) + " instructions, program " + hex(one.program)
         + ", model shape " + hex(one.layouts);
}

}  // namespace ashlar
