// Definitions of diagnosis.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/render/diagnosis.hpp>
#include <ashlar/render/neighbours.hpp>
#include <ashlar/render/parameter_words.hpp>
#include <ashlar/render/table_words.hpp>

#include <cstddef>

namespace ashlar::render_detail {

// The name of a site: the pass, or the operation on its result.
ASHLAR_INLINE std::string name_of_site(site const& s) {
  switch (s.code) {
    case opcode::compute:
      break;
    case opcode::send:
      return "the send of " + to_string(s.what);
    case opcode::receive:
      return "the receive of " + to_string(s.what);
    case opcode::all_reduce:
      if (is_part(s.what)) return "the all-reduce " + to_string(s.what);
      return "the all-reduce of stage " + std::to_string(s.what.stage);
    case opcode::all_gather:
      return "the all-gather of stage " + std::to_string(s.what.stage);
    case opcode::release:
      return "the release of stage " + std::to_string(s.what.stage);
    case opcode::reduce_scatter:
      return "the reduce-scatter of stage " + std::to_string(s.what.stage);
    case opcode::clear:
      return "the clear of stage " + std::to_string(s.what.stage);
    case opcode::measure:
      return "the measurement of the gradients' norm";
    case opcode::optimize:
      return "the optimizer step of stage " + std::to_string(s.what.stage);
    case opcode::offload:
      return "the offload of " + to_string(s.what);
    case opcode::reload:
      return "the reload of " + to_string(s.what);
  }
  return to_string(s.what);
}

ASHLAR_INLINE std::string place_of(site const& s) {
  std::string text = name_of_site(s);
  if (s.device >= 0) text += " on device " + std::to_string(s.device);
  if (s.index >= 0) text += " at position " + std::to_string(s.index);
  return text;
}

ASHLAR_INLINE std::string quantities(diagnosis const& d) {
  std::string const first = place_of(d.first), second = place_of(d.second), n = std::to_string(d.number);
  switch (d.broken) {
    case rule::none:
      return "";
    case rule::counts_are_positive:
      return "one of them is " + n;
    case rule::tables_agree:
      return d.of == table::none ? "one of them gives " + n : size_of_table(d);
    case rule::no_duration_is_negative:
      if (d.first.code == opcode::send) return "a transfer takes " + n;
      if (d.first.code == opcode::offload) return "a copy between a device and its host takes " + n;
      if (d.first.code == opcode::all_reduce) return "a step of a sum over ranks takes " + n;
      if (d.first.index >= 0) return "an overlapped pair takes " + n;
      if (is_part(d.first.what)) return first + " takes " + n;
      return "the " + std::string(name_of(d.first.what.kind)) + " of stage "
             + std::to_string(d.first.what.stage) + " takes " + n;
    case rule::ticks_fit:
      if (d.first.device >= 0) return first + " would end beyond it";
      return "a stage takes " + n + " ticks, too many to add up";
    case rule::figures_are_in_range:
      return std::string("a ") + name_of(d.which) + " is not";
    case rule::micro_batches_share_weights:
      return "those of stage " + std::to_string(d.first.what.stage) + " do not agree";
    case rule::sizes_fit:
    case rule::micro_batch_sizes_divide:
      return "one is " + n;
    case rule::shards_are_last_stages:
      return "stage " + std::to_string(d.first.what.stage) + " is not";
    case rule::stage_edges_ascend:
      return "one leads from stage " + std::to_string(d.first.what.stage) + " to stage "
             + std::to_string(d.second.what.stage);
    case rule::stages_are_convex:
      return "one from operator " + std::to_string(d.first.index) + " of stage "
             + std::to_string(d.first.what.stage) + " through stage " + n + " comes back to operator "
             + std::to_string(d.second.index);
    case rule::stages_have_no_cycle:
      return "stages " + std::to_string(d.first.what.stage) + " and "
             + std::to_string(d.second.what.stage) + " are in one";
    case rule::moving_stages_are_whole:
      return "there are";
    case rule::every_stage_has_a_device:
      return "one is put on device " + std::to_string(d.first.device);
    case rule::work_edges_ascend:
    case rule::work_reads_what_its_device_keeps:
      return first + " and " + second + " are joined";
    case rule::collective_work_sums_one_value:
      return first + " reads " + count_of(d.number, "value");
    case rule::work_uses_what_exists:
      return first + " does not";
    case rule::gradient_is_taken_before_more_is_added:
      if (is_part(d.first.what))
        return first + " finds none of micro-batch " + std::to_string(d.first.what.micro_batch);
      return "what " + (d.second.device >= 0 ? second : first) + " adds is not taken"
             + (d.second.device >= 0 ? " before " + first : "");
    case rule::taken_gradient_is_given_back:
      return first + (d.second.device >= 0 ? " is out of place next to " + second : " is out of place");
    case rule::taken_gradient_is_whole:
      return first + " is about that of stage " + n;
    case rule::state_is_cleared_after_its_last_use:
      if (d.first.index < 0) return first + " is missing";
      return first + " comes before " + second;
    case rule::counts_are_of_the_whole_batch:
      return first + " starts before the last of them ends";
    case rule::every_pass_is_known:
      return first + " does not";
    case rule::every_pass_is_present:
      return first + " is missing";
    case rule::no_pass_is_doubled:
      return first + " has run before";
    case rule::backward_is_fused_or_split:
      return first + " comes in addition to the other form";
    case rule::pass_is_on_its_device:
      return first + " belongs on device " + std::to_string(d.second.device);
    case rule::no_pass_starts_before_its_input:
      return first + " starts " + count_of(d.number, "tick") + " before the result of " + second
             + " is there";
    case rule::passes_do_not_collide:
      return first + " overlaps " + second;
    case rule::spread_passes_take_time:
      return first + " takes none";
    case rule::parts_are_alike:
    case rule::programs_share_alike:
      return "theirs differ";
    case rule::halves_mirror_each_other:
      return "the one given, on " + count_of(d.number, "device") + ", is not";
    case rule::micro_batches_take_a_route:
      return "one takes route " + n;
    case rule::intervals_agree:
      return "one of them is " + count_of(d.number, "tick");
    case rule::micro_batches_fill_blocks:
      return "a block holds " + n;
    case rule::order_has_no_cycle:
      return first + " waits for " + (d.second.device >= 0 ? second + ", which waits for it" : "itself");
    case rule::every_send_has_its_receive:
    case rule::every_receive_has_its_send:
      return first + " has none on device " + std::to_string(d.second.device);
    case rule::no_transfer_is_doubled:
      return first + " repeats " + second;
    case rule::group_is_held_where_it_is_named:
      return first + " names group " + n;
    case rule::gradient_starts_from_zero:
      if (d.first.code == opcode::clear)
        return first + (d.second.device >= 0 ? " repeats " + second : " comes too late");
      return first + " finds it uncleared";
    case rule::gradient_is_reduced_once:
      if (d.second.device >= 0) return first + " repeats " + second;
      return first + (d.first.index < 0 ? " is missing" : " does not belong there");
    case rule::gradient_is_reduced_after_its_last_weight_pass:
      return first + " comes before " + second;
    case rule::weights_are_resident_when_used:
      return first
             + (d.second.device >= 0 ? " comes after " + second : " comes before any gather of them");
    case rule::gathered_weights_are_used:
      return first + " is followed by no pass of the stage"
             + (d.second.device >= 0 ? " before " + second : "");
    case rule::gathered_weights_are_given_up:
      if (d.first.code == opcode::release)
        return first + (d.second.device >= 0 ? " repeats " + second : " has no gather before it");
      return first + (d.second.device >= 0 ? " finds them resident since " + second : " has no release");
    case rule::gradient_is_scattered_whole:
      if (d.first.code == opcode::reduce_scatter)
        return first + (d.second.device >= 0 ? " comes after " + second : " finds nothing to scatter");
      return "what " + first + " adds is not scattered before " + second;
    case rule::norm_is_of_all_gradients:
    case rule::optimizer_steps_once_after_reduction:
      if (d.first.index < 0) return first + " is missing";
      return first + (d.second.device >= 0 ? " is out of place next to " + second : " is out of place");
    case rule::every_instruction_is_on_its_lane:
      return first + " is on lane " + n;
    case rule::what_leaves_comes_back:
      if (d.second.device < 0 && d.second.what.kind != pass_kind::work)
        return first + (d.first.code == opcode::offload ? " has no reload" : " has no offload");
      return is_part(d.second.what) ? first + " takes what " + second + " reads"
                                    : first + " repeats " + second;
    case rule::every_stage_has_one_owner:
    case rule::transfers_lead_to_another_device:
    case rule::every_start_has_its_wait:
      return first + (d.second.device >= 0 ? " conflicts with " + second : " breaks it");
    case rule::sends_and_receives_have_the_same_order:
      return first + " is number " + n + " to its peer, unlike " + second;
    case rule::gradients_are_summed_in_the_same_order:
      return (d.first.index < 0 ? "nothing" : first) + " stands where "
             + (d.second.index < 0 ? "nothing" : second) + " stood, for group " + n;
    case rule::parameter_is_at_least:
    case rule::parameter_is_at_most:
    case rule::parameter_is_a_multiple:
      return "";
    case rule::every_instruction_is_issued_once:
      if (d.first.device < 0) return "there is no instruction " + n;
      return first + (d.number == 0 ? " is missing" : " is there twice");
    case rule::lanes_keep_their_order:
    case rule::nothing_is_issued_before_what_it_waits_for:
      return first + " comes before " + second;
    case rule::those_that_meet_are_issued_together:
      return first + (d.second.device < 0 ? " is the last" : " is followed by " + second);
    case rule::streams_do_not_block_each_other:
    case rule::no_cycle_of_waits:
      return first + " waits for " + second + ", which in the end waits for it";
    case rule::bound_is_for_a_chain:
      return "this has other stages or routes";
    case rule::overlapped_passes_are_a_pair:
      return first + " has no such partner";
    case rule::inference_goes_forward_only:
      return first + " is one";
    case rule::slot_holds_what_is_read:
      if (d.number < 0) return first + " has the wrong number of operands";
      return first + " finds something else in slot " + n
             + (d.second.device >= 0 ? ", last written by " + second : "");
    case rule::no_slot_is_overwritten_before_its_last_read:
      return first + " overwrites slot " + n + ", written by " + second;
    case rule::every_slot_is_freed:
      return "what " + first + " wrote into slot " + n + " is never read";
    case rule::memory_is_within_budget:
      return "device " + std::to_string(d.first.device) + " needs " + count_of(d.number, "byte");
  }
  return "";
}

// Kind of the slot named by the diagnosis.
ASHLAR_INLINE std::string kind_of_slot(diagnosis const& d, program_view const& p) {
  bool const is_of_slot = d.broken == rule::slot_holds_what_is_read
                          || d.broken == rule::no_slot_is_overwritten_before_its_last_read
                          || d.broken == rule::every_slot_is_freed;
  if (!is_of_slot || d.first.device < 0 || d.first.device >= p.device_count) return "";
  list_view<slot_kind> const slots = p.slots_of(d.first.device);
  if (d.number < 0 || d.number >= static_cast<std::int64_t>(slots.size())) return "";
  return "; slot " + std::to_string(d.number) + " is for values of the kind "
         + name_of(nth(slots, d.number));
}

// The bound that a parameter breaks, and the nearest allowed values.
ASHLAR_INLINE std::string bound_broken(diagnosis const& d) {
  bool const counts = d.which != parameter::memory_budget && d.which != parameter::device_speed
                      && d.which != parameter::block_interval;
  std::string thing = std::string(counts ? "the number of " : "the ") + name_of(d.which);
  if (d.first.device >= 0) thing += " on device " + std::to_string(d.first.device);
  std::string const n = std::to_string(d.number), given = std::to_string(d.given);
  if (d.broken == rule::parameter_is_at_least)
    return thing + " must be at least " + n + ", not " + given;
  if (d.broken == rule::parameter_is_at_most) return thing + " must be at most " + n + ", not " + given;
  std::int64_t const step = max_of<std::int64_t>(d.number, 1), below = d.given / step * step;
  return thing + " must be a multiple of " + n + ", not " + given + "; nearest: "
         + (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(below + step);
}

}  // namespace ashlar::render_detail

namespace ashlar {

ASHLAR_INLINE std::string explain(diagnosis const& d) {
  if (d.broken == rule::parameter_is_at_least || d.broken == rule::parameter_is_at_most
      || d.broken == rule::parameter_is_a_multiple)
    return render_detail::bound_broken(d);
  std::string text = sentence(d.broken);
  if (std::string const but = render_detail::quantities(d); !but.empty()) text += ", but " + but;
  return text;
}

ASHLAR_INLINE std::string explain(diagnosis const& d, schedule const& s) {
  bool const collides = d.broken == rule::passes_do_not_collide;
  return render_detail::with_neighbours(
      d, static_cast<int>(s.order.size()), " ",
      [&](std::size_t device) { return s.order[device].size(); },
      [&](std::size_t device, std::size_t i) {
        time_slot const& t = s.order[device][i];
        return to_string(t.what) + (t.is_pair() ? ";" + to_string(t.beside) : "");
      },
      explain(d) + (collides ? " by " + render_detail::count_of(d.number, "tick") : ""));
}

ASHLAR_INLINE std::string explain(diagnosis const& d, program const& p) {
  program_view const view = p.view();
  return render_detail::with_neighbours(
      d, p.device_count(), "; ",
      [&](std::size_t device) { return view.stream(static_cast<int>(device)).size(); },
      [&](std::size_t device, std::size_t i) {
        return to_string(view.stream(static_cast<int>(device))[i]);
      },
      explain(d) + render_detail::kind_of_slot(d, view));
}

}  // namespace ashlar
