// Explains a diagnosis in a sentence: the broken condition, its place, and by how much.
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

// `2F0 on device 1 at position 3`, with the known parts. Positions count from 0, like devices and
// stages.
std::string place_of(site const& s);

// The rule's own quantities, as a clause after `but`.
std::string quantities(diagnosis const& d);

}  // namespace render_detail

// One sentence: the condition, but where it does not hold.
std::string explain(diagnosis const& d);

// Explains a diagnosis of a block, where passes collide modulo the interval.
inline std::string explain(diagnosis const& d, block const&) {
  bool const collides = d.broken == rule::passes_do_not_collide;
  return explain(d) + (collides ? " modulo the interval of " + std::to_string(d.number) : "");
}

// The sentence, and each witness on a line of its own among its neighbours on its device.
std::string explain(diagnosis const& d, schedule const& s);
// For a rule about slots it adds the kind of value.
std::string explain(diagnosis const& d, program const& p);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/render/diagnosis.ipp>
#endif
