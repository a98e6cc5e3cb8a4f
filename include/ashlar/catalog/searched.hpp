// Schedules that depend on the costs: a block of the catalog, reordered by search under the block's
// memory. The published ones come out of greedy schedulers; these are no longer and hold no more.
#pragma once

#include <ashlar/catalog/depth_first.hpp>
#include <ashlar/catalog/grouped_interleaved.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/catalog/v_family.hpp>
#include <ashlar/catalog/zb_h1.hpp>
#include <ashlar/catalog/zb_h2.hpp>
#include <ashlar/optimize/improve.hpp>
#include <ashlar/schedule/compose.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <vector>

namespace ashlar::catalog {

// Most chunk activations of any device once the block repeats.
constexpr int stable_peak(block const& b) {
  int most = 0;
  for (int d = 0; d < b.where.device_count(); ++d) {
    int const peak = repeated_peak(b, device_id{d});
    most = peak > most ? peak : most;
  }
  return most;
}

constexpr schedule repeated(block const& b, shape const& s) { return b | repeat(s.m) | retime(s.cost); }

// The block repeated, then reordered within its stable peak.
constexpr schedule within_its_peak(block const& b, shape const& s) {
  if (s.search.passes <= 0) return b | repeat(s.m);
  return improve({repeated(b, s)}, chunk_activations(stable_peak(b)), s.search);
}

// The best found with split backwards on the V-shaped placement under `limit` chunk activations a
// device. Without a budget it is the largest of V-ZB, V-Half and V-Min that fits.
constexpr schedule zero_bubble_v(shape const& s, int limit) {
  if (s.search.passes <= 0 && limit >= 2 * s.p.value) return v_zb(s.p) | repeat(s.m);
  std::vector<schedule> seeds;
  for (block const& b : {v_zb(s.p), v_half(s.p), v_min(s.p)})
    if (stable_peak(b) <= limit) seeds.push_back(repeated(b, s));
  if (seeds.empty()) seeds.push_back(repeated(v_min(s.p), s));
  return improve(seeds, chunk_activations(limit), s.search);
}

// The best found with split backwards on a chain of devices under `limit` micro-batches a device.
// Without a budget it is ZB-H2 where that fits, else ZB-H1. Qi et al., Zero Bubble Pipeline Parallelism
// (2023), section 3: ZB-1p and ZB-2p for limits p and 2p.
constexpr schedule zero_bubble(shape const& s, int limit) {
  bool const twice = limit >= 2 * s.p.value - 1;
  if (s.search.passes <= 0) {
    if (twice) return zb_h2(s.p) | repeat(s.m);
    return zb_h1(s.p) | repeat(s.m);
  }
  std::vector<schedule> seeds{repeated(zb_h1(s.p), s)};
  seeds.insert(twice ? seeds.begin() : seeds.end(), repeated(zb_h2(s.p), s));
  return improve(seeds, chunk_activations(limit), s.search);
}

constexpr int close_group_of(shape const& s) { return s.group == 0 ? s.p.value : s.group; }

// At least half of the devices, or the micro-batches of a group wait for each other in a circle; more
// than p only hold more.
constexpr diagnosis check_close_groups(shape const& s) {
  if (diagnosis const d = check_shape(s); !d.ok()) return d;
  return all_of({at_least(parameter::chunk_count, s.v.value, 1),
                 at_least(parameter::group_size, close_group_of(s), s.p.value / 2 + s.p.value % 2),
                 at_most(parameter::group_size, close_group_of(s), s.p.value)});
}

// With a last group too small for the devices, which would wait for each other in a circle, the
// micro-batches of one that is whole are left out.
constexpr schedule grouped_without_circle(shape const& s) {
  int const group = close_group_of(s);
  schedule plain = grouped_interleaved(s.p, s.m, s.v, group);
  if (s.m.value % group == 0 || order_walk(plain).run().ok()) return plain;
  micro_batches const whole{s.m.value - s.m.value % group + group};
  return take(grouped_interleaved(s.p, whole, s.v, group), s.m);
}

// No more on any device than the first holds: (v - 1) g + p.
constexpr schedule grouped_interleaved(shape const& s) {
  schedule const plain = grouped_without_circle(s);
  if (s.search.passes <= 0) return plain;
  return improve({retime(plain, s.cost)},
                 chunk_activations((s.v.value - 1) * close_group_of(s) + s.p.value), s.search);
}

}  // namespace ashlar::catalog
