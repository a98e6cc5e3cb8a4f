// Chimera: 1F1B down the devices and 1F1B up them, each in the bubbles of the other. Li, Hoefler:
// Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional Pipelines (2021), section
// 3.2; more than two directions: section 3.6; more micro-batches than devices: section 3.5.
#pragma once

#include <ashlar/catalog/bidirectional.hpp>
#include <ashlar/catalog/shape.hpp>

namespace ashlar::catalog {

// The devices from `first` on, round: stage s on device (first + s) mod p.
constexpr placement rotated(devices p, int first) {
  return make_placement(p, stages{p.value}, [=](int s) { return (first % p.value + s) % p.value; });
}

// Chimera is for an even number of routes that divides the number of devices, and a multiple of p
// micro-batches.
constexpr diagnosis check_chimera_shape(shape const& s) {
  return all_of({check_shape(s), at_least(parameter::route_count, s.routes, 2),
                 multiple_of(parameter::route_count, s.routes, 2),
                 multiple_of(parameter::device_count, s.p.value, s.routes),
                 multiple_of(parameter::micro_batch_count, s.m.value, s.p.value)});
}

// Forward doubling is for an even number of devices and a multiple of 2p micro-batches.
constexpr diagnosis check_forward_doubling_shape(shape const& s) {
  return all_of({check_shape(s), multiple_of(parameter::device_count, s.p.value, 2),
                 multiple_of(parameter::micro_batch_count, s.m.value, 2 * tick{s.p.value})});
}

// Backward halving is for an even number of devices and a multiple of p micro-batches.
constexpr diagnosis check_backward_halving_shape(shape const& s) {
  return all_of({check_shape(s), multiple_of(parameter::device_count, s.p.value, 2),
                 multiple_of(parameter::micro_batch_count, s.m.value, s.p.value)});
}

// The basic unit of p micro-batches over 2F routes, F of them down, each starting p / F devices after
// the one before, and their F mirror images; p / 2F consecutive micro-batches take each route. Repeating
// the unit is the paper's direct concatenation.
constexpr block chimera(devices p, int routes) {
  must_be(check_chimera_shape({.p = p, .m = micro_batches{p.value}, .routes = routes}));
  int const step = 2 * p.value / routes, count = p.value / routes;
  block down = one_way(linear(p), count, 2);
  for (int first = step; first < p.value; first += step)
    down = overlay(down, one_way(rotated(p, first), count, 2));
  return both_ways(down);
}

// Forward doubling: two forwards stand where Chimera has one, so that with backwards twice as long all
// slots are equal, and no bubble is left between units of 2p micro-batches. The price is memory: twice
// the activations, unless they are recomputed. A doubled forward is here two forwards one right after
// the other, each of which sends its output when it ends.
//
// Backward halving is the same with micro-batches cut in two for the backward: the schedule's
// micro-batches are then the halves 2k and 2k + 1, forwards of which run together, and costs are those
// of a half.
constexpr block chimera_forward_doubling(devices p) {
  must_be(check_backward_halving_shape({.p = p, .m = micro_batches{p.value}}));
  tick const slot = 2;
  block down = one_way(linear(p), p.value, slot) | with_interval(slot * 3 * p.value);
  for (cell& c : down.cells)  // backwards every other slot, hence forwards two micro-batches at a time
    if (int const k = c.what.micro_batch; c.what.kind == pass_kind::forward)
      c.offset += 2 * slot * (k / 2 - k) + k % 2;
  return both_ways(down);
}

}  // namespace ashlar::catalog
