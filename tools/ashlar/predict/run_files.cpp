#include "predict/run_files.hpp"

#include "command.hpp"
#include "predict/question_options.hpp"
#include "predict/run_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tool {

void add_run_files(CLI::App& command, run_files& files) {
  command
      .add_option("--megatron", files.megatron,
                  "arguments of Megatron-LM, as a shell line or a YAML; options on the command line "
                  "replace them")
      ->type_name("FILE");
  command.add_option("--torchtitan", files.torchtitan, "a job of torchtitan, a TOML")->type_name("FILE");
  command.add_option("--deepspeed", files.deepspeed, "a configuration of DeepSpeed, beside --model")
      ->type_name("FILE");
  command
      .add_option("--run", files.run,
                  "a run, as --as run and `python -m ashlar_pp.read` write it; options on the command "
                  "line replace what it says")
      ->type_name("FILE");
  command
      .add_option("--constants", files.constants,
                  "a file of fitted constants in place of the tool's own (docs/predict.md)")
      ->type_name("FILE");
}

fitted_constants constants_of(run_files const& files) {
  return files.constants.empty() ? own_constants() : read_constants(files.constants);
}

given_run read_given_run(CLI::App const& command, run_files const& o, std::string const& in_cluster,
                         fitted_constants const& c) {
  int const files = !o.megatron.empty() + !o.torchtitan.empty() + !o.deepspeed.empty() + !o.run.empty();
  if (files > 1) throw usage_error("--megatron, --torchtitan, --deepspeed and --run do not go together");
  std::optional<json_text> text;
  if (!o.run.empty()) text = read_run_text(o.run);
  std::optional<ashlar::cost::cluster> cluster;
  if (!in_cluster.empty())
    cluster = read_cluster(in_cluster);
  else if (text)
    cluster = cluster_of_run(*text);
  if (!cluster)
    throw usage_error(fmt::format("--cluster is required{}", text ? ": the file does not say it" : ""));
  option_words given;
  CLI::App names;
  question_options unused;
  add_question_options(names, unused);
  for (CLI::Option const* option : names.get_options()) {
    std::string const name = option->get_lnames().front();
    if (name == "help") continue;
    auto const* const said = command.get_option("--" + name);
    if (said->count() > 0) given[name] = said->as<std::string>();
  }
  std::optional<described_model> named;
  if (given.count("model") > 0) named = read_described_model(given["model"]);
  beside_file const beside{given, named ? &*named : nullptr, cluster->device_count()};
  framework_run run;
  if (!o.megatron.empty()) run = read_megatron(o.megatron, beside);
  if (!o.torchtitan.empty()) run = read_torchtitan(o.torchtitan, beside);
  if (!o.deepspeed.empty()) run = read_deepspeed(o.deepspeed, beside);
  if (text) run = read_run(*text, beside);
  replace_options(run.options, given);
  for (std::string const needed : {"model", "sequence", "batch"})
    if (run.options.count(needed) == 0 && !(run.model && needed == "model"))
      throw usage_error(
          fmt::format("--{} is required{}", needed, files > 0 ? ": the file does not say it" : ""));
  bool const is_named = run.options.count("model") > 0;
  if (named && !text)
    run.model = named;
  else if (!named && is_named)
    run.model = read_described_model(run.options["model"]);
  run.options.emplace("model", "-");  // these were read already
  run.options.emplace("cluster", "-");
  given_run made{prepare(options_from(run.options), *run.model, *cluster, c), run.options};
  prediction& p = made.run;
  p.not_read = run.not_read;
  add_notes(run.notes, p);
  p.not_known = run.not_known;
  constexpr std::array own{"model", "lora", "freeze", "train-only", "head"};
  bool const is_other =
      std::any_of(own.begin(), own.end(), [&](char const* name) { return given.count(name) > 0; });
  if (run.counted && !is_other) must_come_to(*run.counted, p);
  return made;
}

}  // namespace tool
