#include "predict/run_file.hpp"

#include "command.hpp"
#include "files/files.hpp"
#include "options/number_option.hpp"
#include "predict/model_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tool {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr char const* format_name = "ashlar-run";
constexpr int format_version = 1;
constexpr long long largest_parameters = 1'000'000'000'000'000;

constexpr std::array options_of_layout{
    "tensor",          "pipeline",          "chunks",    "context",
    "expert",          "expert-tensor",     "data",      "sharding",
    "shard-ranks",     "weight-ranks",      "recompute", "offload-activations",
    "layout",          "schedule",          "lanes",     "ends-as-layers",
    "pipeline-inside", "offload-optimizer", "costs",     "offload-weights"};

std::string key_of(std::string_view option) {
  if (option == "batch") return "sequences";
  std::string key(option);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

template <class Options>
char const* option_of(Options const& options, std::string_view key) {
  for (char const* each : options)
    if (key_of(each) == key) return each;
  return nullptr;
}

class run_reader : json_reader {
 public:
  run_reader(json_text const& source, beside_file const& beside)
      : json_reader(source), root_(source.root()), beside_(beside) {}

  framework_run run() {
    read_section("batch", options_of_batch);
    read_section("layout", options_of_layout);
    read_section("program", options_of_program);
    framework_run made = arguments();
    if (beside_.model != nullptr)
      made.model = *beside_.model;
    else if (root_.contains("model"))
      read_model(made);
    if (root_.contains("towers") && !(made.model && !made.model->shape.towers.empty())) {
      if (!made.model)
        fail(root_["towers"], "has towers, but no decoder behind them: --model says which");
      read_towers(source_, root_["towers"], made.model->shape);
    }
    replace_options(made.options, said_);
    if (micro_batches_ > 0) count_batch(made.options);
    for (auto const& [key, text] :
         {std::pair{"not_read", &made.not_read}, std::pair{"unknown", &made.not_known}})
      for (std::string const& each : words(key)) *text += (text->empty() ? "" : " ") + each;
    for (std::string& each : words("notes")) made.notes.push_back(std::move(each));
    if (root_.contains("counted")) {
      json const& counted = object(root_["counted"], "counted");
      auto const number = [&](char const* key) {
        return static_cast<double>(whole(at(counted, key), key, 0LL, largest_parameters));
      };
      made.counted = counted_parameters{number("parameters"), number("trained")};
    }
    return made;
  }

 private:
  std::string value_of(json const& value, std::string const& key) const {
    if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
    if (value.is_number_integer()) return fmt::format("{}", value.get<long long>());
    if (value.is_object() && key == "teacher") return value.dump();
    return text(value, key.c_str());
  }

  template <class Options>
  void read_section(char const* name, Options const& options) {
    if (!root_.contains(name)) return;
    for (auto const& [key, value] : object(root_[name], name).items()) {
      if (key == "micro_batches" && std::string_view(name) == "batch") {
        micro_batches_ = whole(value, "micro_batches", 1, largest_framework_size);
        continue;
      }
      char const* const option = option_of(options, key);
      if (option == nullptr)
        fail(value, fmt::format("\"{}\" means nothing in \"{}\"", key.substr(0, 64), name));
      if (value != false) said_[option] = value_of(value, key);
    }
  }

  // The arguments of a framework, with what the sections say in the place of options.
  framework_run arguments() {
    beside_file with = beside_;
    for (auto const& [name, value] : said_) with.given.emplace(name, value);
    framework_run made;
    for (auto const& [name, read] :
         {std::pair{"megatron", &read_megatron_values}, std::pair{"torchtitan", &read_torchtitan_values},
          std::pair{"deepspeed", &read_deepspeed_values}}) {
      if (!root_.contains(name)) continue;
      if (!made.options.empty()) fail(root_[name], "has arguments of two frameworks");
      // A model of the file is read first: layers are dealt to stages by it.
      framework_run own;
      if (with.model == nullptr && root_.contains("model")) {
        read_model(own);
        with.model = &*own.model;
      }
      made = read(source_, object(root_[name], name), with);
      with.model = beside_.model;
    }
    return made;
  }

  void read_model(framework_run& into) const {
    json const& model = root_["model"];
    if (model.is_string())
      into.model = read_described_model(model.get<std::string>());
    else if (object(model, "model").contains("architecture"))
      into.model = model_in(source_, model);
    else
      into.model = described_keys(model, model.contains("name") ? model["name"].dump() : source_.path);
  }

  // Sequences of a step by the micro-batches of each data rank.
  void count_batch(option_words& options) const {
    auto const size = [&](char const* name) {
      auto const given = beside_.given.find(name);
      auto const said = options.find(name);
      std::string const text = given != beside_.given.end() ? given->second
                               : said != options.end()      ? said->second
                                                            : "1";
      return std::max(
          1LL, number_within<long long>(fmt::format("--{}", name), text, 1, largest_framework_size));
    };
    long long const below = size("tensor") * size("pipeline") * size("context"),
                    data = options.count("data") + beside_.given.count("data") > 0
                               ? size("data")
                               : std::max(1LL, beside_.devices / below);
    options["batch"] = fmt::format("{}", micro_batches_ * size("micro-batch") * data);
  }

  std::vector<std::string> words(char const* key) const {
    std::vector<std::string> all;
    if (!root_.contains(key)) return all;
    for (json const& each : list(root_[key], key)) all.push_back(text(each, key));
    return all;
  }

  json const& root_;
  beside_file const& beside_;
  option_words said_;
  long long micro_batches_ = 0;
};

// A value of an option as JSON: whole numbers are numbers, a flag is true.
ordered_json json_of(std::string const& value) {
  long long number = 0;
  if (value.empty()) return true;
  if (read_number(value, number)) return number;
  return value;
}

}  // namespace

bool holds_run(std::string const& path) {
  return read_text(path).find(fmt::format("\"{}\"", format_name)) != std::string::npos;
}

json_text read_run_text(std::string const& path) {
  json_text run = read_json_text(path);
  json_reader const read(run);
  if (!run.root().is_object() || !run.root().contains("format")
      || run.root().at("format") != format_name)
    read.fail(run.root(), fmt::format("is no run: a run has \"format\": \"{}\"", format_name));
  read.whole(read.at(run.root(), "version"), "version", format_version, format_version);
  for (auto const& [key, value] : run.root().items()) {
    constexpr std::array known{"format", "version", "model",    "cluster",    "batch",
                               "layout", "program", "megatron", "torchtitan", "deepspeed",
                               "towers", "counted", "notes",    "unknown",    "not_read"};
    if (std::find(known.begin(), known.end(), key) == known.end())
      read.fail(value, fmt::format("\"{}\" means nothing in a run", key.substr(0, 64)));
  }
  return run;
}

std::optional<ashlar::cost::cluster> cluster_of_run(json_text const& run) {
  auto const at = run.root().find("cluster");
  if (at == run.root().end()) return {};
  if (at->is_string()) return read_cluster(at->get<std::string>());
  return cluster_in({.path = run.path, .text = run.text, .tree = {run.tree, &*at}});
}

framework_run read_run(json_text const& run, beside_file const& beside) {
  return run_reader(run, beside).run();
}

void add_notes(std::vector<std::string> const& notes, prediction& p) {
  for (std::string const& note : notes)
    if (std::find(p.notes.begin(), p.notes.end(), note) == p.notes.end()) p.notes.push_back(note);
}

void must_come_to(counted_parameters const& counted, prediction& p) {
  ashlar::cost::architecture const& model = p.asked.model;
  for (auto const& [told, here, what] :
       {std::tuple{counted.all, parameters(model), "parameters"},
        std::tuple{counted.trained, trained_parameters(model), "parameters that train"}}) {
    std::string const both =
        fmt::format("the program's module has {:.0f} {}, and {:.0f} are counted here", told, what, here);
    if (std::abs(told - here) > told / 1000)
      throw usage_error(both
                        + ": this is another model, or another training; --model, --lora, --freeze or "
                          "--train-only says which");
    if (told != here) p.notes.push_back(both);
  }
}

namespace {

// A word, or the data sheet of one kind.
ordered_json json_of(ashlar::cost::cluster const& c) {
  if (std::string const word = word_of(c); !word.empty()) return word;
  ashlar::cost::machine const& m = c.device();
  if (c.has_several_kinds() || m.products > 0 || m.exchange > 0)
    throw usage_error(
        "a file of a run has data sheets alone: not kinds of figures of their own, nor \"products\" and "
        "\"exchange\"");
  return ashlar::json_of(
      {.sheet = {.name = c.kinds.front().name, .machine = m}, .nodes = c.device_count() / m.per_node});
}

}  // namespace

std::string run_text(prediction const& p) {
  if (p.asked.model.has_measured_layers())
    throw usage_error("a file of a run has no measured layers: they are a file of their own");
  described_model model = p.model;
  if (p.lora.empty()) model.shape = p.asked.model;  // with what is frozen
  model.shape.towers = p.asked.model.towers;
  ordered_json made{{"format", format_name}, {"version", format_version}, {"model", json_of(model)}};
  made["cluster"] = json_of(p.asked.cluster);
  option_list options = options_list(p);
  if (!p.costs.empty()) options.emplace_back("costs", p.costs);
  for (auto const& [name, value] : options) {
    if (std::string_view(name) == "freeze") continue;  // the model has it
    std::string const key = key_of(name);
    for (auto const& [section, option] : {std::pair{"batch", option_of(options_of_batch, key)},
                                          std::pair{"layout", option_of(options_of_layout, key)},
                                          std::pair{"program", option_of(options_of_program, key)}})
      if (option != nullptr) made[section][key] = json_of(value);
  }
  if (!p.notes.empty()) made["notes"] = p.notes;
  if (!p.not_known.empty()) made["unknown"] = {p.not_known};
  if (!p.not_read.empty()) made["not_read"] = {p.not_read};
  return made.dump(1) + "\n";
}

}  // namespace tool
