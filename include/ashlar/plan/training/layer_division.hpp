// How many layers each stage has, if devices differ in speed or in their other work.
#pragma once

#include <ashlar/model/placement.hpp>

#include <vector>

namespace ashlar {

namespace plan_detail {

// What each device has to do for stages of such sizes, and the head.
std::vector<double> loads_of(std::vector<int> const& sizes, std::vector<double> const& layer,
                             double head, placement const& where);

}  // namespace plan_detail

// Sizes of stages of layers that are all alike, each of which takes `layer` on its device, and the last
// stage `head` more, such that the device with most to do has as little as can be: layers are given one
// by one to the device that then has least, each stage has at least one, and a device's stages as many
// as each other, the first one more where it does not come out even. Exact, because layers are alike.
// Throws violation{rule::parameter_is_at_least} unless there is a layer for each stage.
std::vector<int> balanced_division(int layer_count, std::vector<double> const& layer, double head,
                                   placement const& where);

// The same on devices alike.
std::vector<int> balanced_division(int layer_count, double layer, double head, placement const& where);

// A division in which each stage on a device of `group` has `more` layers more (or fewer, if negative),
// and the other devices share the rest in the same way. Empty where a stage would have none.
std::vector<int> shifted_division(std::vector<int> const& sizes, int more, std::vector<int> const& group,
                                  std::vector<double> const& layer, double head, placement const& where);

// The same for layers that each take their own time, cut so that the longest stage is shortest: exact
// where each device has one stage.
std::vector<int> balanced_division(std::vector<double> const& layers, int stage_count);

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/plan/training/layer_division.ipp>
#endif
