// Kinds of changes of a program, most of them for the worse.
#pragma once

namespace oracle {

enum class mutation : unsigned char {
  swap_neighbours,
  swap_two,
  move_within_stream,
  drop,
  duplicate,
  change_peer,
  change_slot,
  change_micro_batch,
  change_stage,
  change_target,
  change_kind,
  change_use,
  swap_uses,
  swap_operands,
  change_lane,
  swap_lanes,
  swap_contents,
  move_to_other_device,
  reduce_earlier,
  swap_transfers_on_both_sides,
  rename_slots,
  give_value_a_new_slot,
  give_operand_a_new_slot,
  change_pairing,
  change_group,
  change_subject,
  drop_operand,
  change_sequence_chunks,
  // These are for work alone:
  drop_edge,
  swap_reductions,
};
inline constexpr int mutations = 30, mutations_without_work = 28;

inline char const* name_of(mutation m) {
  static constexpr char const* names[mutations] = {"swap neighbours",
                                                   "swap two",
                                                   "move within stream",
                                                   "drop",
                                                   "duplicate",
                                                   "change peer",
                                                   "change slot",
                                                   "change micro-batch",
                                                   "change stage",
                                                   "change target",
                                                   "change kind",
                                                   "change use",
                                                   "swap uses",
                                                   "swap operands",
                                                   "change lane",
                                                   "swap lanes",
                                                   "swap contents",
                                                   "move to other device",
                                                   "reduce earlier",
                                                   "swap transfers on both sides",
                                                   "rename slots",
                                                   "give value a new slot",
                                                   "give operand a new slot",
                                                   "change pairing",
                                                   "change group",
                                                   "change subject",
                                                   "drop operand",
                                                   "change sequence chunks",
                                                   "drop edge",
                                                   "swap reductions"};
  return names[static_cast<int>(m)];
}

}  // namespace oracle
