// The program that a compute_comms CSV means. The file names no buffers, so each value has a slot of its
// own: what waits for what is then what the values themselves ask for, and nothing more.
#pragma once

#include <ashlar/interop/csv_tokens.hpp>
#include <ashlar/lower/stream_writer.hpp>
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
// no instructions: what they need has been checked. Gradients are cleared at the beginning of each line.
// A file of a dialect without reductions has them done at the end of each line.
class csv_program_writer {
 public:
  csv_program_writer(csv_tokens const& tokens, placement where)
      : tokens_(tokens), out_(program_for(tokens, std::move(where)), slot_reuse::never) {
    for (auto const& line : tokens.lines)
      for (csv_token const& t : line)
        if (t.computes()) out_.shape().add(t.what);
  }

  csv_streams run() {
    std::vector<std::vector<int>> token_of;
    for (std::size_t d = 0; d < tokens_.lines.size(); ++d) {
      out_.begin_stream(static_cast<int>(d));
      token_of_ = &token_of.emplace_back();
      for (int stage : own_stages(d)) {
        out_.put(slot_kind::weight_gradient, stage, out_.acquire(slot_kind::weight_gradient));
        write(-1, about(opcode::clear, stage));
      }
      for (std::size_t i = 0; i < tokens_.lines[d].size(); ++i) write(static_cast<int>(i), d);
      bool const reduces =
          tokens_.dialect == csv_dialect::reduce_grad || tokens_.dialect == csv_dialect::waits;
      if (!reduces)
        for (int stage : own_stages(d)) write(-1, about(opcode::all_reduce, stage));
      out_.end_stream();
    }
    return {out_.take(), std::move(token_of)};
  }

 private:
  static program program_for(csv_tokens const& tokens, placement where) {
    program p;
    p.mode = tokens.mode;
    p.graph = chain(stages{where.stage_count()});
    p.groups = parameter_groups(where);
    p.where = std::move(where);
    p.route.assign(static_cast<std::size_t>(tokens.micro_batch_count), 0);
    return p;
  }

  int owner(int stage) const { return out_.made().where.device_of(0, stage); }
  std::vector<int> own_stages(std::size_t device) const {
    return out_.made().mode == execution_mode::training
               ? stages_on(out_.made().where, static_cast<int>(device))
               : std::vector<int>{};
  }
  static instruction about(opcode code, int stage) {
    return {.code = code,
            .subject = slot_kind::weight_gradient,
            .what = {pass_kind::backward_weight, stage, 0},
            .group = stage};
  }
  void write(int token, instruction const& i) {
    token_of_->push_back(token);
    out_.write(i, 0);
  }

  void write(int index, std::size_t device) {
    csv_token const& t = tokens_.lines[device][static_cast<std::size_t>(index)];
    csv_action const a = t.action();
    bool const sends = a == csv_action::send_f || a == csv_action::send_b;
    bool const receives = a == csv_action::recv_f || a == csv_action::recv_b;
    if (a == csv_action::reduce_grad) return write(index, about(opcode::all_reduce, t.what.stage));
    if (t.computes()) return write(index, {.overlaps_next = t.overlaps_next, .what = t.what});
    if (!sends && !receives) return;
    bool const forward = t.what.kind == pass_kind::forward;
    int const other = t.what.stage + (forward == sends ? 1 : -1);
    int const peer = owner(other);
    write(index, {.code = sends ? opcode::send : opcode::receive,
                  .lane = out_.made().transfer_lane(peer),
                  .what = {t.what.kind, sends ? t.what.stage : other, t.what.micro_batch},
                  .to = sends ? other : t.what.stage,
                  .peer = peer});
  }

  csv_tokens const& tokens_;
  stream_writer out_;
  std::vector<int>* token_of_ = nullptr;  // of the device being written
};

}  // namespace ashlar
