// What all processes of a run must have in common.
#pragma once

#include <ashlar/core/version.hpp>
#include <ashlar/program/hash.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace ashlar {

// What must be the same on all processes: the version of the library, the program, and the sizes of all
// values in it.
struct identity {
  std::array<char, 16> version{};
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
  std::string_view const number = version;
  std::copy_n(number.begin(), std::min(number.size(), mine.version.size() - 1), mine.version.begin());
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
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "version %s, %d devices, %d stages, %d micro-batches, %d data-parallel ranks, %d "
                "instructions, program %016llx, model shape %016llx",
                one.version.data(), one.devices, one.stages, one.micro_batches, one.ranks,
                one.instructions, static_cast<unsigned long long>(one.program),
                static_cast<unsigned long long>(one.layouts));
  return text.data();
}

}  // namespace ashlar
