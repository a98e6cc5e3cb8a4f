// Numbers of layers of each stage, for devices that differ in speed or in their other work.
#pragma once

#include <ashlar/model/placement.hpp>

#include <vector>

namespace ashlar {

namespace plan_detail {

// The load of each device for stages of these sizes, and the head.
std::vector<double> loads_of(std::vector<int> const& sizes, std::vector<double> const& layer,
                             double head, placement const& where);

}  // namespace plan_detail

// Minimizes the load of the busiest device. Layers are identical and take layer[d] on device d; the
// last stage takes `head` more. Each layer goes to the device that then has the least load. Each stage
// has at least one, and a device's stages are equally large, the first ones one more if it does not come
// out even. Exact, because layers are identical. Throws violation{rule::parameter_is_at_least} unless
// there is a layer for each stage.
std::vector<int> balanced_division(int layer_count, std::vector<double> const& layer, double head,
                                   placement const& where);

// Divides likewise over identical devices.
std::vector<int> balanced_division(int layer_count, double layer, double head, placement const& where);

// A division in which each stage on a device of `group` has `more` layers more (or fewer, if negative),
// and the other devices share the rest in the same way. Empty if a stage would have none.
std::vector<int> shifted_division(std::vector<int> const& sizes, int more, std::vector<int> const& group,
                                  std::vector<double> const& layer, double head, placement const& where);

// Divides layers with times of their own so that the longest stage is shortest: exact if each device has
// one stage.
std::vector<int> balanced_division(std::vector<double> const& layers, int stage_count);

}  // namespace ashlar
