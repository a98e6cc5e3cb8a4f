// The program that a compute_comms CSV means. The file names no buffers, so each value has a slot of its
// own: what waits for what is then what the values themselves ask for, and nothing more.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

struct csv_streams {
  program value;
  std::vector<std::vector<int>> token_of;  // by device and instruction; -1: the file has none for it
};

// Writes the streams of a file that csv_comms found nothing wrong with. Gathers, releases and waits are
// no instructions: what they need has been checked. A file of a dialect without reductions has them
// done at the end of each line.
class csv_program_writer {
 public:
  csv_program_writer(csv_tokens const& tokens, placement where)
      : tokens_(tokens),
        stages_(static_cast<std::size_t>(where.stage_count())),
        slots_(stages_ * static_cast<std::size_t>(tokens.micro_batch_count) * values, -1),
        split_(stages_ * static_cast<std::size_t>(tokens.micro_batch_count), false),
        accumulator_(stages_, -1) {
    program& p = out_.value;
    p.mode = tokens.mode;
    p.graph = chain(stages{where.stage_count()});
    p.where = std::move(where);
    p.route.assign(static_cast<std::size_t>(tokens.micro_batch_count), 0);
    for (auto const& line : tokens.lines)
      for (csv_token const& t : line)
        if (t.computes() && t.what.kind == pass_kind::backward_weight)
          split_[cell(t.what.stage, t.what.micro_batch)] = true;
  }

  csv_streams run() {
    program& p = out_.value;
    for (std::size_t d = 0; d < tokens_.lines.size(); ++d) {
      slot_count_ = 0;
      out_.token_of.emplace_back();
      for (std::size_t i = 0; i < tokens_.lines[d].size(); ++i) write(static_cast<int>(i), d);
      bool const reduces =
          tokens_.dialect == csv_dialect::reduce_grad || tokens_.dialect == csv_dialect::waits;
      for (std::size_t stage = 0; stage < stages_ && p.mode == execution_mode::training && !reduces;
           ++stage)
        if (owner(static_cast<int>(stage)) == static_cast<int>(d)) {
          out_.token_of.back().push_back(-1);
          reduce(static_cast<int>(stage));
        }
      p.stream_begin.push_back(static_cast<int>(p.instructions.size()));
      p.slot_begin.push_back(static_cast<int>(p.slots.size()));
    }
    return std::move(out_);
  }

 private:
  enum value : std::size_t {
    output,
    received_activation,
    gradient,
    received_gradient,
    stash,
    weight_stash,
    values
  };

  std::size_t cell(int stage, int micro_batch) const {
    return static_cast<std::size_t>(micro_batch) * stages_ + static_cast<std::size_t>(stage);
  }
  int& slot(int stage, int micro_batch, value v) {
    return slots_[cell(stage, micro_batch) * values + v];
  }
  int owner(int stage) const { return out_.value.where.device_of(0, stage); }
  bool exists(int stage) const { return stage >= 0 && stage < static_cast<int>(stages_); }

  void begin(instruction i) {
    i.first_operand = static_cast<int>(out_.value.operands.size());
    out_.value.instructions.push_back(i);
  }
  void use(int at, access how) {
    out_.value.operands.push_back({at, how});
    ++out_.value.instructions.back().operand_count;
  }
  void make(int& at, slot_kind kind, bool is_read = true) {
    at = slot_count_++;
    out_.value.slots.push_back(kind);
    use(at, is_read ? access::write : access::scratch);
  }
  void accumulate(int stage) {
    int& at = accumulator_[static_cast<std::size_t>(stage)];
    if (at < 0) {
      at = slot_count_++;
      out_.value.slots.push_back(slot_kind::weight_gradient);
    }
    use(at, access::accumulate);
  }

  void write(int index, std::size_t device) {
    csv_token const& t = tokens_.lines[device][static_cast<std::size_t>(index)];
    csv_action const a = t.action();
    bool const sends = a == csv_action::send_f || a == csv_action::send_b;
    bool const receives = a == csv_action::recv_f || a == csv_action::recv_b;
    if (!t.computes() && !sends && !receives && a != csv_action::reduce_grad) return;
    out_.token_of.back().push_back(index);
    if (a == csv_action::reduce_grad) return reduce(t.what.stage);
    if (t.computes()) return compute(t);
    bool const forward = t.what.kind == pass_kind::forward;
    int const k = t.what.micro_batch, other = t.what.stage + (forward == sends ? 1 : -1);
    int const from = sends ? t.what.stage : other, to = sends ? other : t.what.stage;
    int const peer = owner(other);
    begin({.code = sends ? opcode::send : opcode::receive,
           .lane = out_.value.transfer_lane(peer),
           .what = {t.what.kind, from, k},
           .to = to,
           .peer = peer});
    if (sends)
      use(slot(from, k, forward ? output : gradient), access::read);
    else if (forward)
      make(slot(to, k, received_activation), slot_kind::activation);
    else
      make(slot(to, k, received_gradient), slot_kind::gradient);
  }

  void reduce(int stage) {
    begin({.code = opcode::all_reduce, .what = {pass_kind::backward_weight, stage, 0}, .peer = 0});
    accumulate(stage);
  }

  void compute(csv_token const& t) {
    int const k = t.what.micro_batch, stage = t.what.stage, before = stage - 1, after = stage + 1;
    instruction self{.code = opcode::compute, .what = t.what};
    self.overlaps_next = t.overlaps_next;
    begin(self);
    bool const split = split_[cell(stage, k)];
    switch (t.what.kind) {
      case pass_kind::forward:
        if (exists(before))
          use(owner(before) == owner(stage) ? slot(before, k, output)
                                            : slot(stage, k, received_activation),
              access::read);
        if (exists(after)) make(slot(stage, k, output), slot_kind::activation);
        make(slot(stage, k, stash), slot_kind::stash, tokens_.mode == execution_mode::training);
        return;
      case pass_kind::backward:
      case pass_kind::backward_input:
        if (exists(after))
          use(owner(after) == owner(stage) ? slot(after, k, gradient)
                                           : slot(stage, k, received_gradient),
              access::read);
        use(slot(stage, k, stash), access::read);
        if (exists(before)) make(slot(stage, k, gradient), slot_kind::gradient);
        make(slot(stage, k, weight_stash), slot_kind::weight_stash, split);
        if (!split) accumulate(stage);
        return;
      case pass_kind::backward_weight:
        use(slot(stage, k, stash), access::read);
        use(slot(stage, k, weight_stash), access::read);
        accumulate(stage);
        return;
      case pass_kind::recompute:
      case pass_kind::work:
        return;  // csv_comms refuses them
    }
  }

  csv_tokens const& tokens_;
  std::size_t stages_;
  std::vector<int> slots_;  // by micro-batch, stage and value
  std::vector<bool> split_;
  std::vector<int> accumulator_;  // by stage
  int slot_count_ = 0;            // of the device being written
  csv_streams out_;
};

}  // namespace ashlar
