// Reasons why a run cannot be predicted.
#pragma once

#include <ashlar/core/language.hpp>

#include <cstddef>
#include <exception>

namespace ashlar::cost {

// Conditions for a prediction.
enum class requirement : unsigned char {
  sizes_are_positive,              // number: the size that is not
  sizes_are_small_enough,          // number: the product that is too large
  ranks_are_all_devices,           // number: ranks; limit: devices
  nodes_are_full,                  // number: devices; limit: of a node
  kinds_have_whole_ranks,          // number: devices of a kind; limit: tensor x context
  kinds_follow_the_pipeline,       // pipeline ranks are nearer to each other than data ranks
  batch_divides,                   // number: batch; limit: micro-batch x data
  heads_divide,                    // number: heads; limit: tensor
  experts_divide,                  // number: experts; limit: expert ranks
  expert_ranks_divide_a_stage,     // number: expert x expert tensor; limit: tensor x context x data
  context_divides_the_sequence,    // number: sequence; limit: context
  shards_divide_the_ranks,         // number: ranks that share; limit: data x context
  shards_have_every_expert,        // number: ranks that share; limit: those that have all experts
  shards_need_sharding,            // number: ranks that share; nothing is shared
  weights_divide_the_shards,       // number: ranks that have all weights; limit: those that share
  chunks_need_a_pipeline,          // number: chunks
  model_is_whole,                  // a size of the model is not a positive, finite number
  machine_is_whole,                // likewise of the machine
  constants_are_positive,          // number: the constant that is not
  doubts_are_of_constants,         // number: a constant, or covariances; limit: how many there are
  layout_is_read,                  // number: the letter, from 1, that is not understood
  layout_has_every_stage,          // number: its stages; limit: those of the run
  layout_has_every_layer,          // number: its layers; limit: of the model
  layout_begins_with_embedding,    // its first letter is not E
  layout_ends_with_loss,           // its last letter is not L
  layout_has_one_embedding,        // number: embeddings
  layout_predicts_last,            // a layer stands behind one that predicts further tokens
  layout_predicts_in_last_chunk,   // number: the stage that predicts; limit: the first that may
  layout_has_every_loss,           // number: its losses; limit: the model's and one of each prediction
  layout_has_every_prediction,     // number: its layers that predict further tokens; limit: of the model
  layout_is_small_enough,          // limit: letters after expansion
  something_trains,                // the model is frozen
  measured_has_every_stage,        // number: stages that were measured; limit: those of the run
  measured_is_positive,            // number: the stage
  every_run_is_measured,           // number: runs; limit: measured seconds that are positive
  schedule_has_every_device,       // number: its devices; limit: pipeline
  schedule_has_every_micro_batch,  // number: its micro-batches; limit: those of a data rank
  schedule_has_these_chunks,       // number: chunks; limit: its stages; of a device, if they divide
  schedule_is_small_enough,        // number: micro-batches that would be executed; limit: stages
  host_is_known,                   // something leaves, and the machine does not describe its host
  what_leaves_is_kept,             // parts of layers leave, but all layers are recomputed whole
  schedule_is_a_chain,             // its stages are not consecutive layers: shards of one, say
  schedule_trains_alone,           // it has no backward, runs forwards again, or does other work
  kernel_is_for_the_machine,       // FlashAttention 3 is Hopper's
  machine_has_the_format,          // the device has no products in this format
  fact_is_in_range,                // number: the fact that is a number
  layers_are_measured,             // number: tensor ranks; limit: the kind that was not measured
  towers_have_whole_inputs,        // number: context; with more than one, some inputs would be divided
  cross_attention_has_one_stage,   // number: stages; what it reads is on the first alone
  weights_away_are_sharded,  // weights leave that are not fully sharded, or without their optimizer
  forwards_beside_are_few,   // number: frozen forwards; limit: pipeline, where it is above 1
  teachers_have_one_stage,   // number: stages of a pipeline
};
inline constexpr std::size_t requirement_count =
    static_cast<std::size_t>(requirement::teachers_have_one_stage) + 1;

// Thrown if a run cannot be predicted.
struct unpredictable : std::exception {
  requirement broken;
  long long number, limit;

  // `it`: the number that breaks the condition; `most`: its limit, if there is one.
  unpredictable(requirement what_must_hold, long long it = 0, long long most = 0)
      : broken(what_must_hold), number(it), limit(most) {}
  char const* what() const noexcept override { return "the run cannot be predicted"; }
};

}  // namespace ashlar::cost
