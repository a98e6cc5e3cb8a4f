// Models and clusters that `ashlar plan` is asked about: by name, or from files.
#pragma once

#include <ashlar/plan/training/plan_question.hpp>

#include <string>
#include <vector>

namespace tool {

struct named_model {
  std::string name, source;
  std::string precision = "bf16";  // of weights, activations and products; or fp16, fp32
  ashlar::transformer model;
  std::vector<ashlar::listed_model> lists = {};  // measured layers; none: a transformer's formulas
  ashlar::kept_widths widths;

  double parameters() const { return lists.empty() ? model.parameters() : lists[0].parameters(); }
};

// Reads a name (70B), or a file: an object of its own keys (docs/formats.md) or a Hugging Face
// config.json. A `sequence` above 0 replaces that of the file. `costs`, if given, is a file of --costs,
// whose stages are the layers of a list: their times replace those of the list. Throws usage_error.
named_model read_model(std::string const& name_or_file, int sequence, std::string const& costs = {});

struct named_kind {
  std::string name;
  ashlar::device_kind kind;  // with the FLOP/s of 16-bit products
  double wide_flops = 0;     // of fp32 products; 0: not known
  bool has_bf16 = true;      // whether products of 16 bits may be of bf16
};

struct named_cluster {
  std::string name, source;
  std::vector<named_kind> kinds;
  double between_kinds = 0;  // bytes a second; 0: as the slower kind's network

  int device_count() const;
};

// Reads NODESxDEVICESxKIND (64x8xH100), DEVICESxKIND for one node, several of them with + between, or a
// file. Throws usage_error.
named_cluster read_cluster(std::string const& name_or_file);

}  // namespace tool
