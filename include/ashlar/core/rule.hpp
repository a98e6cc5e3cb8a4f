// The rules that values must keep, and the sentence of each.
#pragma once

#include <ashlar/core/language.hpp>

namespace ashlar {

// Each rule says what must hold.
enum class rule : unsigned char {
  none,
  // sizes and costs
  counts_are_positive,
  tables_agree,
  no_duration_is_negative,
  ticks_fit,
  parameter_is_at_least,
  parameter_is_at_most,
  parameter_is_a_multiple,
  sizes_fit,
  micro_batches_share_weights,
  figures_are_in_range,
  stage_edges_ascend,
  micro_batch_sizes_divide,
  shards_are_last_stages,
  stages_are_convex,
  stages_have_no_cycle,
  every_stage_has_a_device,
  moving_stages_are_whole,
  // blocks and schedules
  every_pass_is_known,
  every_pass_is_present,
  no_pass_is_doubled,
  backward_is_fused_or_split,
  pass_is_on_its_device,
  no_pass_starts_before_its_input,
  passes_do_not_collide,
  spread_passes_take_time,
  intervals_agree,
  parts_are_alike,
  halves_mirror_each_other,
  micro_batches_take_a_route,
  micro_batches_fill_blocks,
  order_has_no_cycle,
  overlapped_passes_are_a_pair,
  inference_goes_forward_only,
  work_edges_ascend,
  work_reads_what_its_device_keeps,
  collective_work_sums_one_value,
  work_uses_what_exists,
  gradient_is_taken_before_more_is_added,
  taken_gradient_is_given_back,
  taken_gradient_is_whole,
  state_is_cleared_after_its_last_use,
  counts_are_of_the_whole_batch,
  bound_is_for_a_chain,
  // programs: complete
  every_send_has_its_receive,
  every_receive_has_its_send,
  no_transfer_is_doubled,
  group_is_held_where_it_is_named,
  gradient_starts_from_zero,
  gradient_is_reduced_once,
  gradient_is_reduced_after_its_last_weight_pass,
  weights_are_resident_when_used,
  gathered_weights_are_used,
  gathered_weights_are_given_up,
  gradient_is_scattered_whole,
  norm_is_of_all_gradients,
  optimizer_steps_once_after_reduction,
  every_instruction_is_on_its_lane,
  what_leaves_comes_back,
  // programs of an import
  every_stage_has_one_owner,
  transfers_lead_to_another_device,
  every_start_has_its_wait,
  // programs: ordered
  sends_and_receives_have_the_same_order,
  // programs: deadlock-free
  no_cycle_of_waits,
  streams_do_not_block_each_other,
  // programs: issued in one order
  every_instruction_is_issued_once,
  lanes_keep_their_order,
  nothing_is_issued_before_what_it_waits_for,
  those_that_meet_are_issued_together,
  // programs: memory-safe
  slot_holds_what_is_read,
  no_slot_is_overwritten_before_its_last_read,
  every_slot_is_freed,
  memory_is_within_budget,
  // programs that take the place of others
  programs_share_alike,
  gradients_are_summed_in_the_same_order,
};
inline constexpr int rule_count = static_cast<int>(rule::gradients_are_summed_in_the_same_order) + 1;

// The rule as an English clause that says what must hold.
constexpr char const* sentence(rule broken) {
  switch (broken) {
    case rule::none:
      return "nothing is wrong";
    case rule::counts_are_positive:
      return "counts must be at least 1";
    case rule::tables_agree:
      return "tables must have an entry for each thing that they are about";
    case rule::no_duration_is_negative:
      return "a pass or a transfer must not take less than no time, and work at least one tick";
    case rule::ticks_fit:
      return "times must stay within the range of ticks";
    case rule::parameter_is_at_least:
      return "a schedule's parameter must not be below its bound";
    case rule::parameter_is_at_most:
      return "a schedule's parameter must not be above its bound";
    case rule::parameter_is_a_multiple:
      return "a schedule's parameter must be a multiple";
    case rule::sizes_fit:
      return "sizes must not be negative, larger than the whole or beyond the range of bytes";
    case rule::micro_batches_share_weights:
      return "micro-batches may differ in what passes keep and send, but not in weights, gradients, "
             "optimizer state or in whether a stage recomputes";
    case rule::figures_are_in_range:
      return "figures of models, devices and plans must be finite, and above zero unless zero has a "
             "meaning";
    case rule::stage_edges_ascend:
      return "every edge of the stage graph must lead to a higher stage, once";
    case rule::micro_batch_sizes_divide:
      return "the size of a stage's micro-batches must divide all larger ones, and sequences in chunks "
             "have one size";
    case rule::shards_are_last_stages:
      return "the shards of a layer must be stages of size 1 that no stage follows, each listed once, "
             "in "
             "ascending order";
    case rule::stages_are_convex:
      return "no path of operators may leave a stage and come back";
    case rule::stages_have_no_cycle:
      return "stages must not need each other in a cycle";
    case rule::every_stage_has_a_device:
      return "every route must put every stage on an existing device";
    case rule::moving_stages_are_whole:
      return "where backwards run on other devices than forwards, there must be no shards, no chunks of "
             "sequences, no micro-batches of several sizes, no work of other systems and no copies to "
             "hosts, and nothing that needs one device for each stage";
    case rule::every_pass_is_known:
      return "a pass must name an existing device, stage and micro-batch";
    case rule::every_pass_is_present:
      return "every stage must run every pass of every micro-batch";
    case rule::no_pass_is_doubled:
      return "no pass may run twice";
    case rule::backward_is_fused_or_split:
      return "a backward must be either fused or split into input and weight";
    case rule::pass_is_on_its_device:
      return "a pass must run on the device that its route gives its stage";
    case rule::no_pass_starts_before_its_input:
      return "no pass may start before its inputs have arrived";
    case rule::passes_do_not_collide:
      return "passes of one device must not overlap in time";
    case rule::spread_passes_take_time:
      return "where a block has to make room for a longer pass, the pass in its place must take time";
    case rule::parts_are_alike:
      return "what is put together must have the same stage graph, costs and mode";
    case rule::halves_mirror_each_other:
      return "a schedule that is folded must be its own mirror image, on two routes and an even number "
             "of "
             "devices";
    case rule::micro_batches_take_a_route:
      return "every micro-batch must take one of the routes, and those that belong together the same";
    case rule::intervals_agree:
      return "blocks laid over each other must have the same interval";
    case rule::micro_batches_fill_blocks:
      return "the micro-batches must fill whole building blocks";
    case rule::order_has_no_cycle:
      return "the devices' orders must not wait for each other in a cycle";
    case rule::overlapped_passes_are_a_pair:
      return "a forward and the backward that it overlaps must be neighbours that start together and do "
             "not depend on each other";
    case rule::inference_goes_forward_only:
      return "a schedule for inference must not have backward passes";
    case rule::work_edges_ascend:
      return "an edge of work must join work with a pass or with work after it, by job and part, once";
    case rule::work_reads_what_its_device_keeps:
      return "work and who reads it must be on one device, and what work reads of a stage must be kept: "
             "no weight pass, nor a forward that is run again, keeps anything";
    case rule::collective_work_sums_one_value:
      return "each part of collective work must sum one value of work that nobody else reads, on a "
             "device "
             "of its own";
    case rule::work_uses_what_exists:
      return "work must share the state of an earlier job that keeps one, clear no other than it keeps, "
             "and use the gradient of a stage";
    case rule::gradient_is_taken_before_more_is_added:
      return "a gradient that work takes must be taken after each weight pass, before the next one adds "
             "to it: the norm of a sum does not tell those of its parts";
    case rule::taken_gradient_is_given_back:
      return "a gradient that work takes must be read after it is taken, into a state before that is "
             "given "
             "back, and given back once, after the last was taken and before it is reduced";
    case rule::taken_gradient_is_whole:
      return "a gradient that work takes must be all of its stage's: in no shards, not in common with "
             "other stages, and of micro-batches of one size";
    case rule::state_is_cleared_after_its_last_use:
      return "what work keeps for a step must be cleared once in each step, after its last use";
    case rule::counts_are_of_the_whole_batch:
      return "a backward that uses counts of the whole batch must start after all forwards of its stage";
    case rule::bound_is_for_a_chain:
      return "bounds and comparisons of models need a chain of stages";
    case rule::every_send_has_its_receive:
      return "every send must have its receive on the peer";
    case rule::every_receive_has_its_send:
      return "every receive must have its send on the peer";
    case rule::no_transfer_is_doubled:
      return "no transfer may happen twice";
    case rule::group_is_held_where_it_is_named:
      return "an instruction must name parameters that its device holds, in a form that the program has";
    case rule::gradient_starts_from_zero:
      return "a gradient must be cleared once before the first pass that adds to it, and not while it "
             "holds a sum";
    case rule::gradient_is_reduced_once:
      return "every stage's gradient must be reduced exactly once on each replica";
    case rule::gradient_is_reduced_after_its_last_weight_pass:
      return "a gradient must be reduced after the last pass that adds to it";
    case rule::weights_are_resident_when_used:
      return "a pass must find its stage's weights gathered and not yet given up";
    case rule::gathered_weights_are_used:
      return "weights must not be gathered for nothing";
    case rule::gathered_weights_are_given_up:
      return "gathered weights must be given up exactly once, before they are gathered again and by the "
             "end of the step";
    case rule::gradient_is_scattered_whole:
      return "every part of a gradient must be scattered exactly once, before its stage is reduced";
    case rule::norm_is_of_all_gradients:
      return "the gradients' norm must be measured once on each device, after its reductions, and then "
             "summed once, before the first optimizer step";
    case rule::optimizer_steps_once_after_reduction:
      return "every stage must take exactly one optimizer step on each replica, after its gradient is "
             "reduced";
    case rule::every_instruction_is_on_its_lane:
      return "every instruction must be on the right lane";
    case rule::what_leaves_comes_back:
      return "what a forward keeps may leave for the host once, and must come back once, before a "
             "recompute or a backward reads it; what work reads must stay";
    case rule::every_stage_has_one_owner:
      return "a stage must have one owner";
    case rule::transfers_lead_to_another_device:
      return "a transfer must lead from one device to another";
    case rule::every_start_has_its_wait:
      return "each start must be waited for exactly once, after it";
    case rule::sends_and_receives_have_the_same_order:
      return "sends and receives between two devices must come in the same order";
    case rule::no_cycle_of_waits:
      return "instructions must not wait for each other in a cycle";
    case rule::streams_do_not_block_each_other:
      return "devices that block at each instruction of their streams must not wait for each other in a "
             "cycle";
    case rule::every_instruction_is_issued_once:
      return "every instruction must be issued once";
    case rule::lanes_keep_their_order:
      return "the instructions of a lane must be issued in its order";
    case rule::nothing_is_issued_before_what_it_waits_for:
      return "no instruction may be issued before what it waits for";
    case rule::those_that_meet_are_issued_together:
      return "both halves of a transfer, all members of a collective and overlapped passes must be "
             "issued one right after the other";
    case rule::slot_holds_what_is_read:
      return "a slot must hold the value that an instruction reads from it";
    case rule::no_slot_is_overwritten_before_its_last_read:
      return "no slot may be overwritten while its value is still to be read";
    case rule::every_slot_is_freed:
      return "every value must have been read by the end of the step";
    case rule::memory_is_within_budget:
      return "slots must fit into the memory budget";
    case rule::programs_share_alike:
      return "a program that takes the place of another must have its data ranks, level of sharding and "
             "parameter groups";
    case rule::gradients_are_summed_in_the_same_order:
      return "a program that takes the place of another must add up every gradient in the same order";
  }
  return "unknown rule";
}

}  // namespace ashlar
