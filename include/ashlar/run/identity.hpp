// What must be the same on all processes of a run.
#pragma once

#include <ashlar/core/version.hpp>
#include <ashlar/program/hash.hpp>
#include <ashlar/run/contract.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ashlar {

// What must be the same on all processes: the version of the library, the program, and the sizes of all
// values in it.
struct identity {
  char version[16] = {};
  std::uint64_t program = 0;  // hashes
  std::uint64_t layouts = 0;
  int devices = 0, stages = 0, micro_batches = 0, ranks = 0, instructions = 0;

  friend bool operator==(identity const&, identity const&) = default;
};

template <worker Worker>
identity identity_of(program_view const& p, Worker const& w) {
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
        value_layout const l =
            layout_on(p, 0, v, [&w](value_key k) -> value_layout { return w.layout(k); });
        h.add_all(l.bytes, l.alignment, l.element);
      });
  mine.layouts = h.value();
  return mine;
}

inline std::string to_string(identity const& one) {
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
