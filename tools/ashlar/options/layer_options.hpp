// The option that gives layers instead of stages, which a search divides over the stages of each layout.
#pragma once

#include "options/layout_options.hpp"
#include "options/limit_options.hpp"
#include <ashlar/plan/parts/layered_layouts.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace tool {

struct layer_options {
  std::string path;  // of --per-layer; empty: stages are given as they are
  std::vector<sized_line> lines = {};
};

// Adds --per-layer, which excludes the times and sizes of stages.
void add_layer_options(CLI::App& command, layer_options& layers, cost_options& cost);

// Checks which limits go with it. Throws usage_error.
void must_suit(layer_options const& layers, limit_options const& limit);

// The layouts asked for with the layers divided in several ways, and the limit put on. Layouts that have
// more stages than there are layers are left out. Throws usage_error if that leaves none, and as
// layouts_of() does.
std::vector<ashlar::layout_choice> layered_layouts_of(layer_options const& layers,
                                                      layout_options const& model,
                                                      limit_options const& limit);

// The layers of each stage: "0-4 | 5-7 | 8".
std::string words_of_layers(std::vector<int> const& sizes);

}  // namespace tool
