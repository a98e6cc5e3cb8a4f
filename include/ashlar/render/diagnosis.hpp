// A diagnosis as a sentence: what must hold, where it does not, and by how much.
#pragma once

#include <ashlar/block/block.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstdint>
#include <string>

namespace ashlar {

namespace render_detail {

inline std::string count_of(std::int64_t n, char const* thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

// `2F0 on device 1 at position 3`, as far as it is known. Positions count from 0, as devices and stages
// do.
std::string place_of(site const& s);

// The rule's own quantities, as a clause after `but`.
std::string quantities(diagnosis const& d);

}  // namespace render_detail

// One sentence: what must hold, but where it does not.
std::string explain(diagnosis const& d);

// In a block, where what collides does so modulo the interval.
inline std::string explain(diagnosis const& d, block const&) {
  bool const collides = d.broken == rule::passes_do_not_collide;
  return explain(d) + (collides ? " modulo the interval of " + std::to_string(d.number) : "");
}

// The sentence, and on a line of its own each witness among its neighbours on its device.
std::string explain(diagnosis const& d, schedule const& s);
// Of a slot it says what kind of value it is for.
std::string explain(diagnosis const& d, program const& p);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/diagnosis.ipp>
#endif
