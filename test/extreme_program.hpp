// Programs in which one field or another may be anything.
#pragma once

#include "extreme_fields.hpp"
#include "mutate.hpp"
#include <ashlar/program/program.hpp>

#include <cstddef>

namespace extreme_fields {

inline void change_instruction(dice& d, program& p) {
  if (p.instructions.empty()) return;
  instruction& i = one_of(d, p.instructions);
  int instruction::*const numbers[] = {&instruction::lane,          &instruction::to,
                                       &instruction::peer,          &instruction::first_operand,
                                       &instruction::operand_count, &instruction::group};
  switch (d.between(0, 10)) {
    case 0:
      i.code = any_of<opcode>(d, 11);
      return;
    case 1:
      i.overlaps_next = !i.overlaps_next;
      i.subject = any_of<slot_kind>(d, slot_kinds - 1);
      return;
    case 2:
      i.what = one_of(d, p.instructions).what;
      return;
    case 3:
    case 4:
      change_pass(d, i.what);
      return;
    default:
      put(d, p.instructions, numbers[d.between(0, 5)]);
  }
}

// Inserts half a transfer, or a whole one, of a device to itself or to any other.
inline void insert_transfer(dice& d, program& p) {
  if (p.instructions.empty() || p.stream_begin.size() != static_cast<std::size_t>(p.device_count()) + 1)
    return;
  int const count = static_cast<int>(p.instructions.size());
  for (int const begin : p.stream_begin)  // changed before
    if (begin < 0 || begin > count) return;
  int const device = d.between(0, p.device_count() - 1), length = mutate::length(p, device);
  if (length < 1) return;
  opcode const half = d.percent(50) ? opcode::send : opcode::receive;
  instruction i{.code = half, .what = one_of(d, p.instructions).what, .peer = device};
  i.lane = p.transfer_lane(device, half, i.what.kind);
  i.to = i.what.stage + (i.what.kind == pass_kind::forward ? 1 : -1);
  int const at = d.between(0, length);
  mutate::insert(p, device, at, i);
  if (d.percent(50)) return;
  i.code = i.code == opcode::send ? opcode::receive : opcode::send;
  if (d.percent(50)) i.lane = first_transfer_lane;
  mutate::insert(p, device, at, i);
}

inline void change(dice& d, program& p) {
  switch (d.between(p.work.empty() ? -1 : -4, 15)) {
    case -4:
    case -3:
    case -2:
      change_work(d, p.work);
      return;
    case -1:
      change_groups(d, p.groups, p.where);
      return;
    case 0:
      change_graph(d, p.graph);
      return;
    case 1:
      p.where = other_placement(d, p.where);
      return;
    case 2:
      change_list(d, p.route);
      return;
    case 3:
      change_list(d, p.stream_begin);
      return;
    case 4:
      change_list(d, p.slot_begin);
      return;
    case 5:
      p.lanes = any_of<transfer_lanes>(d, 2);
      return;
    case 6:
      p.mode = p.mode == execution_mode::training ? execution_mode::inference : execution_mode::training;
      p.sharding = any_of<sharding_level>(d, 4);
      return;
    case 7:
      p.step = any_of<optimizer_step>(d, 2);
      p.offloads = d.percent(50);
      p.data_ranks = extreme(d, p.data_ranks);
      return;
    case 8:
      if (!p.slots.empty()) one_of(d, p.slots) = any_of<slot_kind>(d, slot_kinds - 1);
      return;
    case 9:
      if (!p.operands.empty()) one_of(d, p.operands).how = any_of<ashlar::access>(d, 3);
      return;
    case 10:
      put(d, p.operands, &operand::slot);
      return;
    case 11:
      insert_transfer(d, p);
      return;
    default:
      change_instruction(d, p);
  }
}

}  // namespace extreme_fields
