// A job of torchtitan as a run.
#include "command.hpp"
#include "files/files.hpp"
#include "options/number_option.hpp"
#include "predict/framework_files.hpp"
#include "predict/text_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

namespace {

// Arguments: --training.seq_len 8192, or with =; a list has a word for each entry.
void read_arguments(std::string_view text, std::map<std::string, std::string>& values) {
  std::string* last = nullptr;
  for (std::string_view line : lines_of(text)) {
    line = trimmed(line);
    if (line.starts_with('#')) continue;
    while (!line.empty()) {
      auto const end = std::min(line.find_first_of(" \t\\"), line.size());
      std::string word(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
      if (word.empty()) continue;
      constexpr std::string_view subcommand = "activation-checkpoint:";
      if (word.starts_with(subcommand)) {
        values["activation_checkpoint.mode"] = word.substr(subcommand.size());
      } else if (word.starts_with("--")) {
        auto const equals = std::min(word.find('='), word.size());
        std::string name = word.substr(2, equals - 2);
        std::replace(name.begin(), name.end(), '-', '_');
        last = &values[name];
        *last = equals < word.size() ? word.substr(equals + 1) : "";
      } else if (last != nullptr) {
        *last += (last->empty() ? "" : " ") + word;
      }
    }
  }
}

// Names of modules, with commas in each stage and blanks between, as layers of each stage.
std::string layout_of_modules(std::string_view parts, long long& stages) {
  std::string layout;
  stages = 0;
  while (!parts.empty()) {
    auto const end = std::min(parts.find(' '), parts.size());
    std::string_view part = parts.substr(0, end);
    parts.remove_prefix(std::min(end + 1, parts.size()));
    if (stages++ > 0) layout += '|';
    while (!part.empty()) {
      auto const comma = std::min(part.find(','), part.size());
      std::string_view const name = part.substr(0, comma);
      layout += name == "tok_embeddings" ? "E" : name == "lm_head" || name == "output" ? "L" : "";
      if (name.starts_with("layers.")) layout += 't';
      part.remove_prefix(std::min(comma + 1, part.size()));
    }
  }
  return layout;
}

// By the function of the registry; empty: it is none of ours.
std::string model_of_registry(std::string const& config) {
  for (auto const& [name, made_by] : torchtitan_models)
    if (std::string_view(made_by).ends_with(" " + config)) return name;
  return {};
}

}  // namespace

framework_run read_torchtitan(std::string const& path, int devices) {
  std::string const text = read_text(path);
  std::map<std::string, std::string> values;
  std::string section;
  if (text.find("--training.") != std::string::npos) read_arguments(text, values);
  for (std::string_view line : values.empty() ? lines_of(text) : std::vector<std::string_view>()) {
    if (auto const remark = line.find('#'); remark != line.npos) line = line.substr(0, remark);
    line = trimmed(line);
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
    } else if (auto const equals = line.find('='); equals != line.npos) {
      values[section + "." + std::string(trimmed(line.substr(0, equals)))] =
          unquoted(line.substr(equals + 1));
    }
  }
  std::set<std::string, std::less<>> asked;
  auto const word = [&](std::initializer_list<char const*> names, std::string otherwise) {
    asked.insert(names.begin(), names.end());
    for (char const* name : names)
      if (auto const at = values.find(name); at != values.end()) return at->second;
    return otherwise;
  };
  auto const number = [&](std::initializer_list<char const*> names, long long otherwise) {
    std::string const found = word(names, "");
    if (found.empty()) return otherwise;
    return number_within<long long>(fmt::format("'{}': {}", path, *names.begin()), found, -1,
                                    largest_framework_size);
  };
  if (word({"training.seq_len"}, "").empty())
    throw usage_error(fmt::format("'{}' lacks seq_len in [training]: it is no job of torchtitan", path));
  framework_run run;
  option_words& o = run.options;
  long long const tensor = number({"parallelism.tensor_parallel_degree"}, 1),
                  pipeline = number({"parallelism.pipeline_parallel_degree"}, 1),
                  context = number({"parallelism.context_parallel_degree"}, 1);
  long long const below = std::max(1LL, tensor) * std::max(1LL, pipeline) * std::max(1LL, context);
  long long const local = number({"training.local_batch_size", "training.batch_size"}, 8);
  long long const data = std::max(1LL, devices / below),
                  all = number({"training.global_batch_size"}, -1);
  long long const micro = number({"parallelism.pipeline_parallel_microbatch_size"}, 1);
  o = {{"sequence", word({"training.seq_len"}, "")},
       {"batch", fmt::format("{}", all > 0 ? all : local * data)},
       {"micro-batch", fmt::format("{}", pipeline > 1 ? micro : local)},
       {"tensor", fmt::format("{}", tensor)},
       {"pipeline", fmt::format("{}", pipeline)},
       {"context", fmt::format("{}", context)},
       {"expert", fmt::format("{}", std::max(1LL, number({"parallelism.expert_parallel_degree"}, 1)))}};
  o["sharding"] = number({"parallelism.data_parallel_shard_degree"}, -1) == 1 ? "none" : "full";
  if (std::string const parts = word({"parallelism.module_fqns_per_model_part"}, ""); !parts.empty()) {
    long long stages = 0;
    o["layout"] = layout_of_modules(parts, stages);
    if (pipeline > 0 && stages % pipeline == 0) o["chunks"] = fmt::format("{}", stages / pipeline);
  }
  bool const is_split = word({"parallelism.enable_sequence_parallel"}, "true") != "false"
                        && word({"parallelism.no_enable_sequence_parallel"}, "none") == "none";
  if (tensor > 1) o["sequence-parallel"] = is_split ? "on" : "off";
  number({"parallelism.data_parallel_replicate_degree"}, 1);
  word({"parallelism.pipeline_parallel_schedule", "training.disable_cuda_graphs"}, "");
  o["recompute"] = word({"activation_checkpoint.mode"}, "selective") == "full" ? "full" : "none";
  bool const is_low = word({"float8.enable_float8_linear"}, "false") == "true"
                      || word({"model.converters"}, "").find("float8") != std::string::npos;
  o["precision"] = is_low                                                           ? "fp8"
                   : word({"model.converters"}, "").find("mx") != std::string::npos ? "mxfp8"
                                                                                    : "bf16";
  std::string const name = word({"model.name"}, ""), flavor = word({"model.flavor"}, "");
  if (name == "llama3" && (flavor == "8B" || flavor == "70B" || flavor == "405B"))
    o["model"] = flavor == "8B" ? "llama3-8b" : flavor == "70B" ? "llama3-70b" : "llama3.1-405b";
  if (std::string const known = model_of_registry(word({"config"}, "")); !known.empty())
    o["model"] = known;
  // Of the sections that say what is computed; the others are about logs, files and data.
  for (auto const& [key, value] : values)
    for (std::string_view const part : {"model.", "training.", "parallelism.", "activation_checkpoint.",
                                        "float8.", "mx.", "optimizer.", "compile."})
      if (key.starts_with(part) && asked.count(key) == 0)
        run.not_read += (run.not_read.empty() ? "" : " ") + key;
  return run;
}

}  // namespace tool
