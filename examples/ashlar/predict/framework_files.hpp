// Runs as their frameworks write them: arguments of Megatron-LM, a job of torchtitan, a configuration of
// DeepSpeed.
#pragma once

#include "predict/models.hpp"

#include <map>
#include <optional>
#include <string>

namespace tool {

// Options of `ashlar predict`, without their dashes.
using option_words = std::map<std::string, std::string>;

struct framework_run {
  option_words options;
  std::optional<described_model> model;  // where the file says it
  std::string not_read;                  // what says nothing here, or is not known, apart by blanks
};

inline constexpr int largest_framework_size = 1'000'000'000;

// A shell line, or a YAML of arguments. Throws usage_error.
framework_run read_megatron(std::string const& path);

// `devices`: of the cluster.
framework_run read_torchtitan(std::string const& path, int devices);
framework_run read_deepspeed(std::string const& path, int devices);

}  // namespace tool
