#include "predict/dealt_layout.hpp"

#include "command.hpp"
#include "predict/layout_words.hpp"
#include "predict/question_options.hpp"
#include "predict/words.hpp"
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>

#include <fmt/format.h>

#include <utility>

namespace tool {

namespace {

using ashlar::cost::dealing;
using ashlar::cost::question;
using ashlar::cost::stage;

int stages_in(question const& q) {
  try {
    return ashlar::cost::stage_count(q);
  } catch (ashlar::cost::unpredictable const& e) {
    throw usage_error(sentence_of(e, q));
  }
}

dealing dealt(question const& q, fitted_constants const& c) {
  try {
    return deal_layers(q, c.values);
  } catch (ashlar::cost::unpredictable const& e) {
    throw usage_error(sentence_of(e, q));
  }
}

void must_be_dealt(question const& q) {
  if (!q.measured.stages.empty())
    throw usage_error("--costs: times of stages are those of the division that they were measured on");
  if (q.layout.pipeline == 1) throw usage_error("--pipeline 1 is one stage: there is nothing to divide");
  int const stages = stages_in(q), parts = ashlar::cost::part_chain(q.model, q.layout).count();
  if (stages > parts)
    throw usage_error(
        fmt::format("{} stages on --pipeline {} for the {} parts of this model: some would be empty",
                    stages, q.layout.pipeline, parts));
}

std::string megatron_argument(std::vector<stage> const& stages) {
  return fmt::format("--pipeline-model-parallel-layout '{}'\n", megatron_letters(stages));
}

// Overrides of Hydra; the string is quoted for it, and the word for a shell.
std::string bridge_overrides(std::vector<stage> const& stages, int chunks) {
  return fmt::format(
      "'model.pipeline_model_parallel_layout=\"{}\"' "
      "model.virtual_pipeline_model_parallel_size={}\n",
      megatron_letters(stages), chunks > 1 ? fmt::format("{}", chunks) : "null");
}

// Lists of lists, as TOML and Python have them.
std::string torchtitan_lists(std::vector<stage> const& stages) {
  std::string text = "module_fqns_per_model_part = [\n";
  for (stage const& s : stages)
    text += fmt::format("    [\"{}\"],\n", fmt::join(torchtitan_modules(s), "\", \""));
  return text + "]\n";
}

// Where each stage begins in the list of layers, and the end: embedding, layers, head.
std::string deepspeed_parts(question const& q, std::vector<stage> const& stages) {
  return fmt::format("parts = [0, {}]\n",
                     fmt::join(ashlar::cost::part_chain(q.model, q.layout).ends_of(stages), ", "));
}

}  // namespace

dealt_layout deal_layout(prediction run, std::string const& of_typed) {
  must_be_dealt(run.asked);
  dealt_layout made{.run = run, .typed = std::move(run), .of_typed = of_typed};
  answer_it(made.typed);
  question& q = made.run.asked;
  dealing found = dealt(q, made.run.constants);
  double const capacity = made.typed.answer.capacity, outside = made.run.constants.values.outside_bytes,
               typed_peak = made.typed.answer.peak + outside;
  if (found.stages.empty()) {
    question larger = q;
    for (ashlar::cost::device_kind& each : larger.cluster.kinds)
      each.device.memory_bytes *= typed_peak / capacity * (1 + 1e-12);
    found = dealt(larger, made.run.constants);
    made.is_within = false;
  }
  if (found.stages.empty())
    throw usage_error(fmt::format("no division fits; {} needs {} GiB of {} GiB", of_typed,
                                  gibibytes(typed_peak), gibibytes(capacity)));
  q.layout.stages = found.stages;
  std::erase(made.run.notes, spread_note);
  if (is_spread(found.stages)) made.run.notes.emplace_back(spread_note);
  made.run.layout.clear();
  settle_stages(made.run);
  answer_it(made.run);
  made.bound = found.bound;
  return made;
}

std::string stages_for(std::string const& framework, prediction const& p) {
  question const& q = p.asked;
  std::vector<stage> const& stages = q.layout.stages;
  bool const takes_predictions = framework.starts_with("megatron");
  if (!takes_predictions && q.model.predictions > 0)
    throw usage_error(
        fmt::format("--as {}: it has no layers that predict further tokens in a list", framework));
  bool const is_usual = q.layout.is_usual();
  if (!is_usual && framework != "torchtitan")
    throw usage_error(fmt::format("--as {}: it runs no other schedule than 1F1B{}", framework,
                                  takes_predictions ? " and its interleaved form" : ""));
  if (framework == "deepspeed" && q.layout.chunks > 1)
    throw usage_error("--as deepspeed: its pipelines have no virtual stages");
  return framework == "megatron"          ? megatron_argument(stages)
         : framework == "megatron-bridge" ? bridge_overrides(stages, q.layout.chunks)
         : framework == "torchtitan"      ? torchtitan_lists(stages)
                                          : deepspeed_parts(q, stages);
}

}  // namespace tool
