// Definitions of csv_program.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/interop/csv_program.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

ASHLAR_INLINE csv_program_writer::csv_program_writer(csv_tokens const& tokens, placement where,
                                                     transfer_lanes lanes)
    : tokens_(tokens),
      made_(program_for(tokens, std::move(where), lanes)),
      shape_(made_.view()),
      slots_(static_cast<std::size_t>(slot_kinds) * static_cast<std::size_t>(made_.stage_count())
             * (made_.route.size() + 1)) {
  for (auto const& line : tokens.lines)
    for (csv_token const& t : line)
      if (t.computes()) shape_.add(t.what);
}

ASHLAR_INLINE csv_streams csv_program_writer::run() {
  bool const reduces =
      tokens_.dialect == csv_dialect::reduce_grad || tokens_.dialect == csv_dialect::waits;
  std::vector<std::vector<int>> token_of;
  for (auto const& line : tokens_.lines) {
    device_ = static_cast<int>(token_of.size());
    token_of_ = &token_of.emplace_back();
    std::vector<int> trained;  // stages whose gradients the line sums
    if (made_.mode == execution_mode::training) trained = stages_on(made_.where, device_);
    token_ = -1;
    for (int stage : trained) {
      if (shape_.is_sharded()) share(opcode::clear, slot_kind::gradient_shard, stage);
      share(opcode::clear, slot_kind::weight_gradient, stage);
    }
    for (csv_token const& t : line) {
      ++token_;
      write_token(t);
    }
    token_ = -1;
    for (int stage : trained)
      if (!reduces) reduce(stage);
    made_.stream_begin.push_back(static_cast<int>(made_.instructions.size()));
    made_.slot_begin.push_back(static_cast<int>(made_.slots.size()));
  }
  return {std::move(made_), std::move(token_of)};
}

ASHLAR_INLINE program csv_program_writer::program_for(csv_tokens const& tokens, placement where,
                                                      transfer_lanes lanes) {
  program p;
  p.lanes = lanes;
  p.mode = tokens.mode;
  p.graph = chain(stages{where.stage_count()});
  p.groups = parameter_groups(where);
  p.where = std::move(where);
  p.route.assign(static_cast<std::size_t>(tokens.micro_batch_count), 0);
  for (auto const& line : tokens.lines)
    for (csv_token const& t : line)
      if (t.action() == csv_action::unshard || t.action() == csv_action::reshard) {
        p.sharding = sharding_level::full;
        p.data_ranks = 2;
      }
  return p;
}

ASHLAR_INLINE void csv_program_writer::write_token(csv_token const& t) {
  switch (t.action()) {
    case csv_action::compute:
      return write({.overlaps_next = t.overlaps_next, .what = t.what});
    case csv_action::unshard:
      return share(opcode::all_gather, slot_kind::weight, t.what.stage);
    case csv_action::reshard:
      return share(opcode::release, slot_kind::weight, t.what.stage);
    case csv_action::reduce_grad:
      return reduce(t.what.stage);
    case csv_action::send_f:
    case csv_action::send_b:
    case csv_action::recv_f:
    case csv_action::recv_b:
      return transfer(t);
    case csv_action::wait_reduce_grad:
    case csv_action::wait_send_f:
    case csv_action::wait_send_b:
      return;
  }
}

ASHLAR_INLINE void csv_program_writer::transfer(csv_token const& t) {
  int const other = t.other_stage(), peer = made_.where.device_of(0, other);
  opcode const code = t.sends() ? opcode::send : opcode::receive;
  write({.code = code,
         .what = {t.what.kind, t.sends() ? t.what.stage : other, t.what.micro_batch},
         .to = t.sends() ? other : t.what.stage,
         .peer = peer});
}

ASHLAR_INLINE void csv_program_writer::share(opcode code, slot_kind subject, int stage) {
  write({.code = code,
         .subject = subject,
         .what = {subject == slot_kind::weight ? pass_kind::forward : pass_kind::backward_weight, stage,
                  0},
         .group = stage});
}

ASHLAR_INLINE void csv_program_writer::write(instruction i) {
  i.lane = made_.lane_of(i);
  i.first_operand = static_cast<int>(made_.operands.size());
  for_each_operand(shape_, device_, i, [&](value_key const& v, access how, int) {
    made_.operands.push_back({slot_of(v), how});
  });
  i.operand_count = static_cast<int>(made_.operands.size()) - i.first_operand;
  made_.instructions.push_back(i);
  token_of_->push_back(token_);
}

ASHLAR_INLINE int csv_program_writer::slot_of(value_key const& v) {
  auto const row =
      static_cast<std::size_t>(v.micro_batch + 1) * static_cast<std::size_t>(made_.stage_count());
  slot& s =
      slots_[(row + static_cast<std::size_t>(v.of)) * slot_kinds + static_cast<std::size_t>(v.kind)];
  if (s.device != device_) {
    s = {device_, static_cast<int>(made_.slots.size()) - made_.slot_begin.back()};
    made_.slots.push_back(v.kind);
  }
  return s.number;
}

}  // namespace ashlar
