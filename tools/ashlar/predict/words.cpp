#include "predict/words.hpp"

#include "predict/choices.hpp"
#include <ashlar/cost/step/constants.hpp>

#include <fmt/core.h>

#include <cstddef>

namespace tool {

namespace {

// The first kind without products in this format.
ashlar::cost::machine const& lacking(ashlar::cost::cluster const& c,
                                     ashlar::cost::number_format format) {
  for (ashlar::cost::device_kind const& each : c.kinds)
    if (!has_products(each.device, format)) return each.device;
  return c.device();
}

}  // namespace

std::string sentence_of(ashlar::cost::unpredictable const& e, ashlar::cost::question const& q) {
  using ashlar::cost::requirement;
  switch (e.broken) {
    case requirement::sizes_are_positive:
      return fmt::format("sizes must be at least 1, not {}", e.number);
    case requirement::sizes_are_small_enough:
      return fmt::format("{} x {} is more than can be predicted", e.number, e.limit);
    case requirement::ranks_are_all_devices:
      return fmt::format(
          "--tensor {} x --pipeline {} x --context {} x --data {} is {} ranks, and --cluster has {} "
          "devices",
          q.layout.tensor, q.layout.pipeline, q.layout.context, q.layout.data, e.number, e.limit);
    case requirement::nodes_are_full:
      return fmt::format("{} devices do not fill nodes of {}", e.number, e.limit);
    case requirement::kinds_have_whole_ranks:
      return fmt::format(
          "--tensor {} x --context {} = {} must divide the {} devices of each kind in --cluster",
          q.layout.tensor, q.layout.context, e.limit, e.number);
    case requirement::kinds_follow_the_pipeline:
      return "--pipeline-inside: a cluster of several kinds has them one after the other along "
             "pipelines";
    case requirement::layers_are_measured:
      return fmt::format("the model's layers were not measured on {} tensor ranks of {}", e.number,
                         q.cluster.kinds[static_cast<std::size_t>(e.limit)].name);
    case requirement::fact_is_in_range: {
      ashlar::cost::described_number const& fact =
          ashlar::cost::fact_number_table[static_cast<std::size_t>(e.number)];
      return fmt::format("--fact {} lies from {} to {}", fact.name, fact.least, fact.most);
    }
    case requirement::batch_divides:
      return fmt::format("--batch {} must be a multiple of --micro-batch {} x --data {} = {}", e.number,
                         q.layout.micro_batch, q.layout.data, e.limit);
    case requirement::heads_divide:
      return fmt::format("--tensor {} must divide the model's {} heads", e.limit, e.number);
    case requirement::experts_divide:
      if (e.number == 0) return fmt::format("--expert {}: the model has no experts", e.limit);
      return fmt::format("--expert {} must divide the model's {} experts", e.limit, e.number);
    case requirement::expert_ranks_divide_a_stage:
      return fmt::format(
          "--expert {} x --expert-tensor {} must divide the {} ranks of a stage (tensor x context x "
          "data)",
          q.layout.expert, q.layout.expert_tensor, e.limit);
    case requirement::context_divides_the_sequence:
      return fmt::format("--context {} must divide --sequence {}", e.limit, e.number);
    case requirement::shards_divide_the_ranks:
      return fmt::format("--shard-ranks {} must divide the {} data and context ranks", e.number,
                         e.limit);
    case requirement::shards_have_every_expert:
      return fmt::format(
          "--shard-ranks {} x --tensor {} must be a multiple of --expert {} x --expert-tensor {}: ranks "
          "that share have all experts",
          q.layout.shard_ranks, q.layout.tensor, q.layout.expert, q.layout.expert_tensor);
    case requirement::shards_need_sharding:
      return fmt::format("--shard-ranks {} needs --sharding: nothing is shared", e.number);
    case requirement::weights_divide_the_shards:
      if (e.limit == 0) return fmt::format("--weight-ranks {} needs --sharding full", e.number);
      return fmt::format("--weight-ranks {} must divide the {} ranks that share", e.number, e.limit);
    case requirement::chunks_need_a_pipeline:
      return fmt::format("--chunks {} needs --pipeline of at least 2", e.number);
    case requirement::model_is_whole:
      return "the model has a size that is zero, negative, too large or no number";
    case requirement::machine_is_whole:
      return "the machine has a figure that is zero, negative, too large or no number";
    case requirement::constants_are_positive:
      return fmt::format("the constant \"{}\" must be positive",
                         ashlar::cost::constant_names[static_cast<std::size_t>(e.number)].name);
    case requirement::doubts_are_of_constants:
      return fmt::format("the doubts about constants name {}, where there are {}", e.number, e.limit);
    case requirement::layout_is_read:
      return fmt::format(
          "--layout is not understood at character {}: it takes E, t, m, L, | between stages, (...)*n, "
          "or layers of each stage as 7,8x14,7",
          e.number);
    case requirement::layout_has_every_stage:
      if (q.layout.is_executed())
        return fmt::format("--layout has {} stages, and the schedule {}", e.number, e.limit);
      return fmt::format("--layout has {} stages, and --pipeline {} x --chunks {} is {}", e.number,
                         q.layout.pipeline, q.layout.chunks, e.limit);
    case requirement::layout_has_every_layer:
      return fmt::format("--layout has {} layers, and the model has {}", e.number, e.limit);
    case requirement::layout_begins_with_embedding:
      return "--layout must begin with E, the embedding";
    case requirement::layout_ends_with_loss:
      return "--layout must end with L, the loss, and have nothing else behind an L";
    case requirement::layout_has_one_embedding:
      return fmt::format("--layout must have one E, the embedding, not {}", e.number);
    case requirement::layout_predicts_last:
      return "--layout must have each t, a layer, before the first m, which predicts a further token";
    case requirement::layout_has_every_loss:
      return fmt::format(
          "--layout has {} L: it must have one, which takes all losses, or {}, one of each loss",
          e.number, e.limit);
    case requirement::layout_predicts_in_last_chunk:
      return fmt::format(
          "--layout has m, which predicts further tokens, on stage {}: it must be on the last virtual "
          "stage of its device, from stage {} on",
          e.number, e.limit);
    case requirement::layout_has_every_prediction:
      return fmt::format("--layout has {} m, and the model has {} layers that predict further tokens",
                         e.number, e.limit);
    case requirement::something_trains:
      return "the embedding, the head and all layers are frozen: nothing trains";
    case requirement::measured_has_every_stage:
      return fmt::format("--costs has times of {} stages, and the run {}", e.number, e.limit);
    case requirement::measured_is_positive:
      return fmt::format("--costs: the passes of stage {} must take some time, and no weeks", e.number);
    case requirement::every_run_is_measured:
      return fmt::format("there are {} runs, and {} of them have a time above zero", e.number, e.limit);
    case requirement::schedule_has_every_device:
      return fmt::format("the schedule has {} devices, and --pipeline is {}", e.number, e.limit);
    case requirement::schedule_has_every_micro_batch:
      return fmt::format(
          "the schedule has {} micro-batches, and --batch {} is {} of --micro-batch {} on each data "
          "rank",
          e.number, q.batch, e.limit, q.layout.micro_batch);
    case requirement::schedule_has_these_chunks:
      return fmt::format("the schedule has {} stages on {} devices, which are not --chunks {}", e.limit,
                         q.layout.pipeline, e.number);
    case requirement::schedule_is_small_enough:
      return fmt::format("the schedule has too many passes: {} micro-batches of {} stages", e.number,
                         e.limit);
    case requirement::host_is_known:
      return "--offload-activations, --offload-optimizer and --offload-weights: the machine does not "
             "say "
             "what its host takes; a file of it has host_link, host_memory_bytes and "
             "host_memory_bandwidth";
    case requirement::forwards_beside_are_few:
      return e.limit > 1 ? std::string("--frozen-forwards: nothing here says when a pipeline runs them")
                         : fmt::format("--frozen-forwards is from 0 to 100, not {}", e.number);
    case requirement::teachers_have_one_stage:
      return std::string("--teacher: nothing here says when a pipeline runs its forwards");
    case requirement::weights_away_are_sharded:
      return "--offload-weights: needs --sharding full, without --weight-ranks";
    case requirement::what_leaves_is_kept:
      return "--offload-activations: with --recompute full or op layers keep no such parts; the rest "
             "may leave with `full`";
    case requirement::schedule_is_a_chain:
      return "the schedule's stages are not consecutive layers of the model: some are shards of a "
             "layer, "
             "or beside each other; no such run is predicted";
    case requirement::schedule_trains_alone:
      return "the schedule must have forwards and backwards alone, each once: what is run again, "
             "--recompute says";
    case requirement::kernel_is_for_the_machine:
      return "--attention flash_attention_3: that is for Hopper alone (H100, H200, GH200)";
    case requirement::machine_has_the_format:
      return fmt::format("precision {}: {}", word_for(format_choices, q.program.format),
                         lacking_format_words("the machine", lacking(q.cluster, q.program.format)));
    case requirement::towers_have_whole_inputs:
      return fmt::format(
          "--context {}: context ranks would divide a text that an encoder reads, what layers attend "
          "to, "
          "or inputs of a tower that they share (--tower-ranks context); such a model is predicted with "
          "--context 1",
          e.number);
    case requirement::cross_attention_has_one_stage:
      return fmt::format(
          "--pipeline {}: layers that attend to an encoder's tokens get these on one stage alone; such "
          "a "
          "model is predicted with --pipeline 1",
          e.number);
    case requirement::layout_is_small_enough:
      return fmt::format("--layout has more than {} letters when it is written out", e.limit);
  }
  return e.what();
}

std::string lacking_format_words(std::string const& machine, ashlar::cost::machine const& m) {
  std::string others;
  for (auto const& [word, format] : format_choices)
    if (has_products(m, format)) others += fmt::format("{}{}", others.empty() ? "" : ", ", word);
  return fmt::format("{} has no products in it, but in {}; a file for --cluster may say otherwise",
                     machine, others);
}

}  // namespace tool
