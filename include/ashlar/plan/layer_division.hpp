// How many layers each stage has, where devices differ in what else they do.
#pragma once

#include <ashlar/model/placement.hpp>
#include <ashlar/plan/partition.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Sizes of stages of layers that all take `layer`, and the last stage `head` more, such that the device
// with most to do has as little as can be: layers are given one by one to the device that then has
// least, each stage has at least one, and a device's stages as many as each other, the first one more
// where it does not come out even. Exact, because layers are alike. Throws
// violation{rule::parameter_is_at_least} unless there is a layer for each stage. O(layers x devices).
constexpr std::vector<int> weighed_division(int layer_count, double layer, double head,
                                            placement const& where) {
  int const stage_count = where.stage_count();
  std::vector<int> sizes = uniform_partition(stage_count, stage_count);
  if (layer_count < stage_count) return uniform_partition(layer_count, stage_count);
  std::vector<double> load(static_cast<std::size_t>(where.device_count()), 0.0);
  for (int stage = 0; stage < stage_count; ++stage)
    load[static_cast<std::size_t>(where.device_of(0, stage))] +=
        layer + (stage + 1 == stage_count ? head : 0);
  for (int given = stage_count; given < layer_count; ++given) {
    std::size_t least = 0;
    for (std::size_t d = 1; d < load.size(); ++d)
      if (load[d] < load[least]) least = d;
    load[least] += layer;
    int smallest = -1;
    for (int stage = 0; stage < stage_count; ++stage)
      if (where.device_of(0, stage) == static_cast<int>(least)
          && (smallest < 0
              || sizes[static_cast<std::size_t>(stage)] < sizes[static_cast<std::size_t>(smallest)]))
        smallest = stage;
    ++sizes[static_cast<std::size_t>(smallest)];
  }
  return sizes;
}

// The same for layers that each take their own time, cut so that the longest stage is shortest: exact
// where each device has one stage.
constexpr std::vector<int> weighed_division(std::vector<double> const& layers, int stage_count) {
  cut_costs c{.layer = layers,
              .volume = std::vector<double>(layers.size(), 0.0),
              .link = std::vector<double>(static_cast<std::size_t>(stage_count), 0.0),
              .repeats = 1};
  return best_partition(c, stage_count);
}

}  // namespace ashlar
