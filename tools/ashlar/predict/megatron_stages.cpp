#include "predict/megatron_stages.hpp"

#include "predict/words.hpp"
#include <ashlar/cost/question/stage_layout.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace tool {

namespace {

// Megatron's own reader leaves these as letters that mean nothing: they are refused.
void check_letters(megatron_command& a, std::string_view layout) {
  bool is_inside = false;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    char const c = layout[i];
    bool const repeats = layout.substr(i + 1, 1) == "*";
    if (c == ' ' || (c == '(' && is_inside) || (c == ')' && !repeats))
      a.fail(fmt::format("has a --pipeline-model-parallel-layout with {}, at which Megatron-LM stops",
                         c == ' '   ? "blanks"
                         : c == '(' ? "parentheses in parentheses"
                                    : "parentheses that repeat nothing"));
    if (c == '(' || c == ')') is_inside = c == '(';
  }
}

std::size_t stages_in(megatron_command& a, std::string const& layout) {
  try {
    return ashlar::cost::read_layout(layout).size();
  } catch (ashlar::cost::unpredictable const& e) {
    a.fail("has a wrong layout: " + sentence_of(e, {}));
  }
}

megatron_stages of_letters(megatron_command& a, long long pipeline) {
  megatron_stages made{.layout = a.word("pipeline_model_parallel_layout")};
  for (char const* other :
       {"num_layers_per_virtual_pipeline_stage", "num_virtual_stages_per_pipeline_rank",
        "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
        "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"})
    if (a.has(other))
      a.fail(fmt::format("has --pipeline-model-parallel-layout beside {}, at which Megatron-LM stops",
                         with_hyphens(other)));
  check_letters(a, made.layout);
  auto const stages = static_cast<long long>(stages_in(a, made.layout));
  if (stages % pipeline != 0)
    a.fail(
        fmt::format("has a --pipeline-model-parallel-layout of {} stages for {} pipeline ranks, which "
                    "do not divide them",
                    stages, pipeline));
  made.chunks = stages / pipeline;
  return made;
}

void must_divide(megatron_command& a, long long layers, long long among, std::string const& whose,
                 char const* ways) {
  if (layers % among != 0)
    a.fail(fmt::format("has {} layers {}, which {} do not divide: Megatron-LM stops{}", layers, whose,
                       among, ways));
}

}  // namespace

megatron_stages stages_of_megatron(megatron_command& a, long long layers, long long pipeline,
                                   long long chunks) {
  if (a.has("pipeline_model_parallel_layout")) return of_letters(a, pipeline);
  bool const has_first = a.has("decoder_first_pipeline_num_layers"),
             has_last = a.has("decoder_last_pipeline_num_layers"),
             counts_embedding = a.has("account_for_embedding_in_pipeline_split"),
             counts_loss = a.has("account_for_loss_in_pipeline_split");
  long long const first = a.number("decoder_first_pipeline_num_layers", 0),
                  last = a.number("decoder_last_pipeline_num_layers", 0);
  if ((has_first || has_last) && (counts_embedding || counts_loss))
    a.fail(
        "counts the embedding or the loss as a layer beside layers of the first or last stage, at "
        "which Megatron-LM stops");
  long long const all = layers + (counts_embedding ? 1 : 0) + (counts_loss ? 1 : 0);
  std::string const counted = all == layers ? "" : "with embedding or loss";
  std::vector<long long> of_rank;
  if (has_first || has_last) {
    long long const ends = (has_first ? 1 : 0) + (has_last ? 1 : 0), left = layers - first - last,
                    middle = pipeline - ends;
    if (left < 0 || (middle <= 0 ? left != 0 : left % middle != 0) || middle < 0)
      a.fail("has layers of the first or last stage that leave no equal share to the others");
    of_rank.assign(static_cast<std::size_t>(pipeline), middle > 0 ? left / middle : 0);
    if (has_first) of_rank.front() = first;
    if (has_last) of_rank.back() = last;
  } else {
    must_divide(a, all, pipeline, counted + (counted.empty() ? "" : " ") + "for its pipeline",
                "; --pipeline-model-parallel-layout says any stages");
    of_rank.assign(static_cast<std::size_t>(pipeline), all / pipeline);
  }
  if (chunks == 0) {
    long long const each = a.number("num_layers_per_virtual_pipeline_stage", 0);
    if (each > 0 && a.has("num_virtual_stages_per_pipeline_rank"))
      a.fail(
          "has --num-layers-per-virtual-pipeline-stage beside "
          "--num-virtual-stages-per-pipeline-rank, at which Megatron-LM stops");
    if (each > 0 && (has_first || has_last))
      a.fail(
          "has --num-layers-per-virtual-pipeline-stage beside layers of the first or last stage: "
          "Megatron-LM takes --num-virtual-stages-per-pipeline-rank there");
    if (each > 0) must_divide(a, of_rank[0], each, "on each pipeline rank", "");
    chunks = each > 0 ? of_rank[0] / each
                      : std::max(1LL, a.number("num_virtual_stages_per_pipeline_rank", 1));
  }
  a.ignore({"num_layers_per_virtual_pipeline_stage", "num_virtual_stages_per_pipeline_rank"});
  megatron_stages made{.layout = {}, .chunks = chunks};
  bool const is_even = !has_first && !has_last && all == layers;
  for (long long here : of_rank) must_divide(a, here, chunks, "on a pipeline rank", "");
  if (is_even || pipeline == 1) return made;
  for (long long chunk = 0; chunk < chunks; ++chunk)
    for (long long rank = 0; rank < pipeline; ++rank) {
      long long here = of_rank[static_cast<std::size_t>(rank)] / chunks;
      if (chunk == 0 && rank == 0 && counts_embedding) --here;
      if (chunk == chunks - 1 && rank == pipeline - 1 && counts_loss) --here;
      if (here < 0) a.fail("has no layers for the embedding or the loss to take the place of");
      made.layout += fmt::format("{}{}", made.layout.empty() ? "" : ",", here);
    }
  return made;
}

void ignore_stages(megatron_command& a) {
  a.ignore({"pipeline_model_parallel_layout", "num_layers_per_virtual_pipeline_stage",
            "num_virtual_stages_per_pipeline_rank", "decoder_first_pipeline_num_layers",
            "decoder_last_pipeline_num_layers", "account_for_embedding_in_pipeline_split",
            "account_for_loss_in_pipeline_split"});
}

}  // namespace tool
