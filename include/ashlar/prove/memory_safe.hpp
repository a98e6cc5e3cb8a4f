// Level "memory-safe": every read finds the value that it is meant to find, nothing is overwritten
// before its last read, and at the end nothing is left unread.
#pragma once

#include <ashlar/model/dependencies.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/prove/messages.hpp>
#include <ashlar/prove/well_formed.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ashlar {

// Walks each device's stream and keeps what every slot holds. That is enough for all interleavings of
// the lanes: the waits between lanes follow from the stream's order slot by slot (hazards.hpp).
class slot_walk {
 public:
  constexpr explicit slot_walk(program const& p)
      : p_(p),
        view_(p.view()),
        sharded_(p.sharding != sharding_level::none),
        passes_(p.stage_count(), p.micro_batch_count(), 0) {
    for (instruction const& i : p.instructions)
      if (i.code == opcode::compute && i.what.kind != pass_kind::work)
        passes_.at(i.what.micro_batch, i.what.stage, result_of(i.what.kind)) =
            i.what.kind == pass_kind::backward ? fused : 1;
  }

  // For a complete program. Linear in operands.
  constexpr diagnosis run() {
    for (int d = 0; d < p_.device_count(); ++d) {
      device_ = d;
      contents_.assign(view_.slots_of(d).size(), {});
      accumulator_.assign(static_cast<std::size_t>(p_.stage_count()), -1);
      if (sharded_) shard_ = accumulator_;
      list_view<instruction> const stream = view_.stream(d);
      for (std::size_t i = 0; i < stream.size(); ++i) {
        operands_ = view_.operands_of(stream[i]);
        next_ = 0;
        where_ = site_of(stream[i], d, static_cast<int>(i));
        visit(stream[i]);
        if (found_.ok() && next_ != operands_.size()) complain(rule::slot_holds_what_is_read, -1);
        if (!found_.ok()) return found_;
      }
      for (std::size_t slot = 0; slot < contents_.size(); ++slot)
        if (contents_[slot].reads_left > 0)
          return {.broken = rule::every_slot_is_freed,
                  .first = contents_[slot].writer,
                  .number = static_cast<std::int64_t>(slot)};
    }
    return {};
  }

 private:
  static constexpr int fused = 2;

  // What a slot holds: the value of `kind` that `stage` made of a micro-batch, for stage `to` if it is
  // for one only.
  struct value {
    slot_kind kind = slot_kind::activation;
    int stage = -1;
    int micro_batch = -1;
    int to = -1;

    friend constexpr bool operator==(value const&, value const&) = default;
  };
  struct content {
    value holds;
    int reads_left = 0;
    int reader = -1;  // the last one, in the device's stream
    site writer;
  };

  constexpr void complain(rule broken, int slot) {
    if (!found_.ok()) return;
    found_ = {.broken = broken, .first = where_, .number = slot};
    if (slot >= 0 && slot < static_cast<int>(contents_.size()))
      found_.second = contents_[static_cast<std::size_t>(slot)].writer;
  }

  // The next operand, if it is used in this way on a slot of this kind.
  constexpr content* next(slot_kind kind, access how) {
    if (!found_.ok()) return nullptr;
    if (next_ >= operands_.size()) {
      complain(rule::slot_holds_what_is_read, -1);
      return nullptr;
    }
    operand const o = operands_[next_++];
    list_view<slot_kind> const slots = view_.slots_of(device_);
    if (o.slot < 0 || o.slot >= static_cast<int>(slots.size()) || o.how != how
        || slots[static_cast<std::size_t>(o.slot)] != kind) {
      complain(rule::slot_holds_what_is_read, o.slot);
      return nullptr;
    }
    slot_ = o.slot;
    return &contents_[static_cast<std::size_t>(o.slot)];
  }

  constexpr void read(value v) {
    content* const c = next(v.kind, access::read);
    if (c == nullptr) return;
    if (c->holds != v) return complain(rule::slot_holds_what_is_read, slot_);
    --c->reads_left;
    c->reader = where_.index;
  }
  constexpr void write(value v, int reads) {
    content* const c = next(v.kind, reads == 0 ? access::scratch : access::write);
    if (c == nullptr) return;
    if (c->reads_left > 0 || c->reader == where_.index)  // nor by the reader itself
      return complain(rule::no_slot_is_overwritten_before_its_last_read, slot_);
    *c = {reads == 0 ? value{} : v, reads, -1, where_};
  }
  constexpr void accumulate(int stage) {
    add_to(slot_kind::weight_gradient, stage, accumulator_[static_cast<std::size_t>(stage)]);
  }
  // A stage has one accumulator at a time, `only`.
  constexpr void add_to(slot_kind kind, int stage, int& only) {
    content* const c = next(kind, access::accumulate);
    if (c == nullptr) return;
    value const v{kind, stage, -1, -1};
    if (c->holds.stage == -1) *c = {v, 0, -1, where_};
    if (only == -1) only = slot_;
    if (c->holds != v || only != slot_) complain(rule::slot_holds_what_is_read, slot_);
  }
  // Reads that nobody counts: of weights and of gradients that are complete.
  constexpr content* look_at(slot_kind kind, int stage, access how) {
    content* const c = next(kind, how);
    if (c == nullptr) return nullptr;
    if (c->holds != value{kind, stage, -1, -1}) {
      complain(rule::slot_holds_what_is_read, slot_);
      return nullptr;
    }
    return c;
  }

  // The slot in which a stage's gradient is complete.
  constexpr slot_kind whole_gradient() const {
    return sharded_ ? slot_kind::gradient_shard : slot_kind::weight_gradient;
  }
  constexpr void visit_shared(instruction const& i) {
    int const stage = i.what.stage;
    if (i.code == opcode::all_gather) {
      content* const c = next(slot_kind::weight, access::write);
      if (c == nullptr) return;
      if (c->holds.stage != -1)
        return complain(rule::no_slot_is_overwritten_before_its_last_read, slot_);
      *c = {{slot_kind::weight, stage, -1, -1}, 0, -1, where_};
    } else if (i.code == opcode::release) {
      if (content* const c = look_at(slot_kind::weight, stage, access::scratch); c != nullptr) *c = {};
    } else if (i.code == opcode::reduce_scatter) {
      accumulate(stage);
      if (!found_.ok()) return;
      contents_[static_cast<std::size_t>(slot_)] = {};
      accumulator_[static_cast<std::size_t>(stage)] = -1;
      add_to(slot_kind::gradient_shard, stage, shard_[static_cast<std::size_t>(stage)]);
    } else if (i.code == opcode::optimize) {
      look_at(whole_gradient(), stage, access::accumulate);
    } else {  // statistics, of each gradient of the device once
      std::vector<char> seen(static_cast<std::size_t>(p_.stage_count()), 0);
      std::size_t wanted = chunks_of(p_.where, device_).size();
      while (found_.ok() && next_ < operands_.size()) {
        content* const c = next(whole_gradient(), access::read);
        if (c == nullptr) return;
        if (c->holds.stage < 0 || seen[static_cast<std::size_t>(c->holds.stage)] != 0)
          return complain(rule::slot_holds_what_is_read, slot_);
        seen[static_cast<std::size_t>(c->holds.stage)] = 1;
        --wanted;
      }
      if (found_.ok() && wanted != 0) complain(rule::slot_holds_what_is_read, -1);
    }
  }

  constexpr bool is_local(int micro_batch, int stage) const {
    return p_.where.device_of(p_.route[static_cast<std::size_t>(micro_batch)], stage) == device_;
  }
  constexpr int stash_reads(pass what) {
    int const input = passes_.at(what.micro_batch, what.stage, result::input_gradient);
    return input == fused ? 1
                          : input + passes_.at(what.micro_batch, what.stage, result::weight_gradient);
  }

  constexpr void visit(instruction const& i) {
    int const stage = i.what.stage, k = i.what.micro_batch;
    bool const forward = i.what.kind == pass_kind::forward;
    switch (i.code) {
      case opcode::send:
        read(forward ? value{slot_kind::activation, stage, k, -1}
                     : value{slot_kind::gradient, stage, k, i.to});
        return;
      case opcode::receive:
        write({forward ? slot_kind::activation : slot_kind::gradient, stage, k, i.to}, 1);
        return;
      case opcode::all_reduce:
        if (sharded_)
          add_to(slot_kind::gradient_shard, stage, shard_[static_cast<std::size_t>(stage)]);
        else
          accumulate(stage);
        return;
      case opcode::all_gather:
      case opcode::release:
      case opcode::reduce_scatter:
      case opcode::optimize:
      case opcode::statistics:
        visit_shared(i);
        return;
      case opcode::compute:
        break;
    }
    visit_pass(i.what);
    if (sharded_ && i.what.kind != pass_kind::work) look_at(slot_kind::weight, stage, access::read);
  }

  constexpr void visit_pass(pass what) {
    int const stage = what.stage, k = what.micro_batch;
    switch (what.kind) {
      case pass_kind::forward: {
        for (int before : p_.graph.predecessors(stage))
          read({slot_kind::activation, before, k, is_local(k, before) ? -1 : stage});
        if (int const readers = static_cast<int>(p_.graph.successors(stage).size()); readers > 0)
          write({slot_kind::activation, stage, k, -1}, readers);
        bool const again = passes_.at(k, stage, result::recomputed) != 0;
        if (again) write({slot_kind::checkpoint, stage, k, -1}, 1);
        write({slot_kind::stash, stage, k, -1}, again ? 0 : stash_reads(what));
        return;
      }
      case pass_kind::recompute:
        read({slot_kind::checkpoint, stage, k, -1});
        write({slot_kind::stash, stage, k, -1}, stash_reads(what));
        return;
      case pass_kind::backward:
      case pass_kind::backward_input:
        for (int after : p_.graph.successors(stage)) read({slot_kind::gradient, after, k, stage});
        read({slot_kind::stash, stage, k, -1});
        for (int before : p_.graph.predecessors(stage))
          write({slot_kind::gradient, stage, k, before}, 1);
        write({slot_kind::weight_stash, stage, k, -1}, passes_.at(k, stage, result::weight_gradient));
        if (what.kind == pass_kind::backward) accumulate(stage);
        return;
      case pass_kind::backward_weight:
        read({slot_kind::stash, stage, k, -1});
        read({slot_kind::weight_stash, stage, k, -1});
        accumulate(stage);
        return;
      case pass_kind::work:
        return;
    }
  }

  program const& p_;
  program_view view_;
  bool sharded_;
  result_table<int> passes_;  // 0: no such pass, 1: one, `fused`
  int device_ = 0;
  std::vector<content> contents_;
  std::vector<int> accumulator_;  // slot by stage
  std::vector<int> shard_;        // slot by stage, if sharded
  list_view<operand> operands_;
  std::size_t next_ = 0;
  int slot_ = 0;
  site where_;
  diagnosis found_;
};

constexpr diagnosis check_memory_safe(program const& p) { return slot_walk(p).run(); }

// bytes(kind, stage) of each slot, at the largest value that it ever holds, against a budget a device.
// `number` of the diagnosis is the bytes needed on `first.device`. Says what check_well_formed says
// about a program that cannot be read, and rule::every_pass_is_known for an unknown stage.
template <class Bytes>
constexpr diagnosis check_memory_budget(program const& p, Bytes bytes, std::int64_t budget) {
  if (diagnosis const d = check_well_formed(p); !d.ok()) return d;
  program_view const view = p.view();
  for (int d = 0; d < p.device_count(); ++d) {
    list_view<slot_kind> const slots = view.slots_of(d);
    std::vector<std::int64_t> size(slots.size(), 0);
    list_view<instruction> const stream = view.stream(d);
    for (std::size_t at = 0; at < stream.size(); ++at) {
      instruction const& i = stream[at];
      if (i.code == opcode::statistics) continue;  // of gradients of several stages
      if (i.what.stage < 0 || i.what.stage >= p.stage_count())
        return {.broken = rule::every_pass_is_known, .first = site_of(i, d, static_cast<int>(at))};
      for (operand const& o : view.operands_of(i)) {
        auto const slot = static_cast<std::size_t>(o.slot);
        auto const need = static_cast<std::int64_t>(bytes(slots[slot], i.what.stage));
        size[slot] = need > size[slot] ? need : size[slot];
      }
    }
    std::int64_t sum = 0;
    for (std::int64_t s : size)
      sum = s > std::numeric_limits<std::int64_t>::max() - sum ? std::numeric_limits<std::int64_t>::max()
                                                               : sum + s;
    if (sum > budget)
      return {.broken = rule::memory_is_within_budget, .first = {.device = d}, .number = sum};
  }
  return {};
}

}  // namespace ashlar
