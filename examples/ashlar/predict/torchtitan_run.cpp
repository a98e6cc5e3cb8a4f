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

namespace tool {

framework_run read_torchtitan(std::string const& path, int devices) {
  std::string const text = read_text(path);
  std::map<std::string, std::string> values;
  std::string section;
  for (std::string_view line : lines_of(text)) {
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
  o["recompute"] = word({"activation_checkpoint.mode"}, "selective") == "full" ? "full" : "none";
  bool const is_low = word({"float8.enable_float8_linear"}, "false") == "true"
                      || word({"model.converters"}, "").find("float8") != std::string::npos;
  o["precision"] = is_low                                                           ? "fp8"
                   : word({"model.converters"}, "").find("mx") != std::string::npos ? "mxfp8"
                                                                                    : "bf16";
  std::string const name = word({"model.name"}, ""), flavor = word({"model.flavor"}, "");
  if (name == "llama3" && (flavor == "8B" || flavor == "70B" || flavor == "405B"))
    o["model"] = flavor == "8B" ? "llama3-8b" : flavor == "70B" ? "llama3-70b" : "llama3.1-405b";
  // Of the sections that say what is computed; the others are about logs, files and data.
  for (auto const& [key, value] : values)
    for (std::string_view const part : {"model.", "training.", "parallelism.", "activation_checkpoint.",
                                        "float8.", "mx.", "optimizer.", "compile."})
      if (key.starts_with(part) && asked.count(key) == 0)
        run.not_read += (run.not_read.empty() ? "" : " ") + key;
  return run;
}

}  // namespace tool
