// Runs as their frameworks write them: arguments of Megatron-LM, a job of torchtitan, a configuration of
// DeepSpeed.
#pragma once

#include "files/json_files.hpp"
#include "predict/models.hpp"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Options of `ashlar predict`, without their dashes.
using option_words = std::map<std::string, std::string>;

// Replaces options; facts are added, and the last value of one counts.
inline void replace_options(option_words& options, option_words const& others) {
  for (auto const& [name, value] : others) {
    std::string& option = options[name];
    bool const adds = name == "fact" && !option.empty();
    option = adds ? option + "," + value : value;
  }
}

// Parameters of the module that a run trains, as its own program counts them.
struct counted_parameters {
  double all = 0;      // without adapters, and copies that train in the place of tables
  double trained = 0;  // with them
};

struct framework_run {
  option_words options = {};
  std::optional<described_model> model = {};  // where the file says it
  std::string not_read = {};                  // what says nothing here, apart by blanks
  std::string not_known = {};                 // what may change the answer, likewise
  std::vector<std::string> notes = {};        // what was taken for something, and why
  std::optional<counted_parameters> counted = {};
};

// The program's own models, and the module and function of torchtitan's registry that make them.
inline constexpr std::array torchtitan_models{std::pair{"llama3-8b", "llama3 llama3_8b"},
                                              std::pair{"llama3-70b", "llama3 llama3_70b"},
                                              std::pair{"llama3.1-405b", "llama3 llama3_405b"},
                                              std::pair{"deepseek-v3", "deepseek_v3 deepseek_v3_671b"},
                                              std::pair{"qwen3-30b-a3b", "qwen3 qwen3_30b_a3b"},
                                              std::pair{"qwen3-32b", "qwen3 qwen3_32b"}};

inline constexpr int largest_framework_size = 1'000'000'000;

// Options that are given beside a file count in its place.
struct beside_file {
  option_words given = {};
  described_model const* model = nullptr;  // that `given` names
  int devices = 1;                         // of the cluster
};

// Read a shell script or a YAML of arguments of Megatron-LM, a job of torchtitan, a configuration of
// DeepSpeed. They throw usage_error if it is not predicted as it stands there.
framework_run read_megatron(std::string const& path, beside_file const& beside);
framework_run read_torchtitan(std::string const& path, beside_file const& beside);
framework_run read_deepspeed(std::string const& path, beside_file const& beside);

// Read the same from values that were evaluated already, by name: arguments of Megatron-LM with their
// program as "program", values of a job of torchtitan by dotted keys, a configuration of DeepSpeed.
// `values` stand in `source`.
framework_run read_megatron_values(json_text const& source, nlohmann::json const& values,
                                   beside_file const& beside);
framework_run read_torchtitan_values(json_text const& source, nlohmann::json const& values,
                                     beside_file const& beside);
framework_run read_deepspeed_values(json_text const& source, nlohmann::json const& values,
                                    beside_file const& beside);

}  // namespace tool
