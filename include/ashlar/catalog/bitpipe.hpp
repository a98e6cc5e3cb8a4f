// BitPipe: two V-shaped pipelines in opposite directions. Wu, Chen, Yu: BitPipe: Bidirectional
// Interleaved Pipeline Parallelism for Accelerating Large Models Training (2024), section 3.
#pragma once

#include <ashlar/catalog/bidirectional.hpp>
#include <ashlar/catalog/shape.hpp>

namespace ashlar::catalog {

// BitPipe is for an even number of devices and a multiple of p micro-batches.
constexpr diagnosis check_bitpipe_shape(shape const& s) {
  return all_of({check_shape(s), multiple_of(parameter::device_count, s.p.value, 2),
                 multiple_of(parameter::micro_batch_count, s.m.value, s.p.value)});
}

// The unit of p micro-batches: Chimera in the half-stages of a V, half of the micro-batches a route.
// Where units meet, a device still has last backwards of its first stage to do and first forwards of the
// next unit to begin with. unit_junction::code lets a backward go first, then a forward, in turns;
// unit_junction::figure the other way about, with the forward in the gap before the backward that it
// follows in the code: a forward that is shorter than a backward fits there.
constexpr block bitpipe(devices p, unit_junction junction) {
  must_be(check_bitpipe_shape({.p = p, .m = micro_batches{p.value}}));
  tick const slot = 3;  // a backward, and a tick for the forward that comes before the next
  int const half = p.value / 2;
  block down = one_way(v_shape(p), half, slot);
  if (junction == unit_junction::figure)
    for (cell& c : down.cells)
      if (c.what.kind == pass_kind::forward && c.what.stage + c.what.micro_batch < half)
        c.offset -= slot + 1;
  return both_ways(down);
}

}  // namespace ashlar::catalog
