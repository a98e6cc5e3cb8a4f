// A configuration of DeepSpeed as a run.
#include "files/json_files.hpp"
#include "predict/choices.hpp"
#include "predict/framework_files.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace tool {

framework_run read_deepspeed(std::string const& path, int devices) {
  json_text const text = read_json_text(path);
  json_reader const read(text);
  nlohmann::json const& root = read.object(text.root, "configuration");
  framework_run run;
  option_words& o = run.options;
  auto const number = [&](char const* key) {
    auto const at = root.find(key);
    if (at == root.end() || at->is_null() || *at == "auto") return 0LL;
    return read.whole(*at, key, 1, largest_framework_size);
  };
  auto const is_on = [&](char const* key) {
    auto const at = root.find(key);
    return at != root.end() && at->is_object() && at->value("enabled", false);
  };
  long long const micro = number("train_micro_batch_size_per_gpu"), all = number("train_batch_size"),
                  steps = std::max(1LL, number("gradient_accumulation_steps"));
  if (micro > 0) o["micro-batch"] = fmt::format("{}", micro);
  if (all > 0)
    o["batch"] = fmt::format("{}", all);
  else if (micro > 0)
    o["batch"] = fmt::format("{}", micro * steps * devices);
  long long stage = 0;
  if (auto const zero = root.find("zero_optimization"); zero != root.end()) {
    read.object(*zero, "zero_optimization");
    if (zero->contains("stage")) stage = read.whole(zero->at("stage"), "stage", 0, 3);
    for (std::string const away : {"offload_optimizer", "offload_param"}) {
      auto const at = zero->find(away);
      if (at == zero->end() || !at->is_object()) continue;
      std::string const device = at->value("device", "none");
      if (device == "none") continue;
      if (away == "offload_param" || device != "cpu")
        read.fail(*at, fmt::format("\"{}\": nothing here says what it takes to move values to {}", away,
                                   device == "cpu" ? "a host" : "that device"));
      o["offload-optimizer"] = "true";
    }
  }
  if (auto const pipeline = root.find("pipeline"); pipeline != root.end() && pipeline->is_object()) {
    if (pipeline->contains("stages"))
      o["pipeline"] =
          fmt::format("{}", read.whole(pipeline->at("stages"), "stages", 1, largest_framework_size));
    if (pipeline->contains("activation_checkpoint_interval")
        && read.whole(pipeline->at("activation_checkpoint_interval"), "activation_checkpoint_interval",
                      0, largest_framework_size)
               > 0)
      o["recompute"] = "full";
  }
  if (auto const tensor = root.find("tensor_parallel");
      tensor != root.end() && tensor->is_object() && tensor->contains("autotp_size"))
    o["tensor"] = fmt::format(
        "{}", read.whole(tensor->at("autotp_size"), "autotp_size", 1, largest_framework_size));
  o["sharding"] = word_for(sharding_choices, static_cast<ashlar::predict::sharding>(stage));
  o["precision"] = is_on("bf16") ? "bf16" : is_on("fp16") ? "fp16" : "fp32";
  for (auto const& [key, value] : root.items()) {
    constexpr std::array read_keys{
        "train_micro_batch_size_per_gpu", "train_batch_size",  "bf16",     "fp16",
        "gradient_accumulation_steps",    "zero_optimization", "pipeline", "tensor_parallel"};
    if (std::find(read_keys.begin(), read_keys.end(), key) == read_keys.end())
      run.not_read += (run.not_read.empty() ? "" : " ") + key;
  }
  return run;
}

}  // namespace tool
