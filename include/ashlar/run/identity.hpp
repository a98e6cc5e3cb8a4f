// The properties that all processes of a run must share.
#pragma once

#include <ashlar/run/device_plan.hpp>

#include <cstdint>
#include <string>

namespace ashlar {

// The properties that all processes must share: the version of the library, the program, and the sizes
// of all values in it.
struct identity {
  char version[16] = {};
  std::uint64_t program = 0;  // hashes
  std::uint64_t layouts = 0;
  int devices = 0, stages = 0, micro_batches = 0, ranks = 0, instructions = 0;

  friend bool operator==(identity const&, identity const&) = default;
};

// Computes the identity of a proved program. `layout` is the worker's. O(instructions).
identity identity_of(program_view const& p, layout_function layout);
template <worker Worker>
identity identity_of(program_view const& p, Worker const& w) {
  return identity_of(p, layout_function([&w](value_key key) -> value_layout { return w.layout(key); }));
}

// The identity in words, for an error message.
std::string to_string(identity const& one);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/identity.ipp>
#endif
