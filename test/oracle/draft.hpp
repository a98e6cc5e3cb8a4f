// A program taken apart, and random changes of it.
#pragma once

#include "oracle/mutation.hpp"
#include <ashlar/model/work_lists.hpp>
#include <ashlar/program/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace oracle {

struct line {
  ashlar::instruction what;
  std::vector<ashlar::operand> operands;
};

// A program taken apart, so that instructions can move.
class draft {
 public:
  explicit draft(ashlar::program p) : base_(std::move(p)) {
    for (int d = 0; d < base_.device_count(); ++d) {
      auto const view = base_.view();
      streams_.emplace_back();
      for (ashlar::instruction const& i : view.stream(d)) {
        auto const o = view.operands_of(i);
        streams_.back().push_back({i, {o.begin(), o.end()}});
      }
      slots_.emplace_back(view.slots_of(d).begin(), view.slots_of(d).end());
    }
  }

  ashlar::program assemble() const {
    ashlar::program p = base_;
    p.instructions.clear();
    p.operands.clear();
    p.slots.clear();
    p.stream_begin = p.slot_begin = {0};
    for (std::size_t d = 0; d < streams_.size(); ++d) {
      for (line const& l : streams_[d]) {
        p.instructions.push_back(l.what);
        p.instructions.back().first_operand = static_cast<int>(p.operands.size());
        p.instructions.back().operand_count = static_cast<int>(l.operands.size());
        p.operands.insert(p.operands.end(), l.operands.begin(), l.operands.end());
      }
      p.slots.insert(p.slots.end(), slots_[d].begin(), slots_[d].end());
      p.stream_begin.push_back(static_cast<int>(p.instructions.size()));
      p.slot_begin.push_back(static_cast<int>(p.slots.size()));
    }
    return p;
  }

  // The changes that follow are those of this number.
  void seed(std::uint32_t number) { random_.seed(number); }
  mutation any() {
    return static_cast<mutation>(pick(base_.work.empty() ? mutations_without_work : mutations));
  }

  // Applies a mutation somewhere; false where there is nothing that it could change.
  bool apply(mutation m) {
    device_ = pick(streams_.size());
    auto& stream = streams_[device_];
    if (stream.size() < 2) return false;
    std::size_t const at = pick(stream.size()), other = pick(stream.size());
    line& l = stream[at];
    switch (m) {
      case mutation::swap_neighbours:
        if (at + 1 == stream.size()) return false;
        std::swap(l, stream[at + 1]);
        return true;
      case mutation::swap_two:
        std::swap(l, stream[other]);
        return at != other;
      case mutation::move_within_stream:
        return move(at, other);
      case mutation::drop:
        stream.erase(iterator(at));
        return true;
      case mutation::duplicate:
        stream.insert(iterator(other), line(l));
        return true;
      case mutation::change_peer:
        return change(l.what.peer, -1, base_.device_count());
      case mutation::change_slot:
        return change_slot(l);
      case mutation::change_micro_batch:
        return change(l.what.what.micro_batch, -1, base_.micro_batch_count() + 1);
      case mutation::change_stage:
        return change(l.what.what.stage, -1, base_.stage_count() + 1);
      case mutation::change_target:
        return change(l.what.to, -1, base_.stage_count() + 1);
      case mutation::change_kind: {
        int kind = static_cast<int>(l.what.what.kind);
        bool const changed = change(kind, 0, ashlar::pass_kinds);
        l.what.what.kind = static_cast<ashlar::pass_kind>(kind);
        return changed;
      }
      case mutation::change_use: {
        if (l.operands.empty()) return false;
        ashlar::operand& o = l.operands[pick(l.operands.size())];
        auto const how = static_cast<ashlar::access>(pick(4));
        return std::exchange(o.how, how) != how;
      }
      case mutation::swap_uses:
      case mutation::swap_operands: {
        if (l.operands.size() < 2) return false;
        ashlar::operand& a = l.operands[pick(l.operands.size())];
        ashlar::operand& b = l.operands[pick(l.operands.size())];
        if (m == mutation::swap_operands) {
          std::swap(a, b);
          return a != b;
        }
        std::swap(a.how, b.how);
        return a.how != b.how;
      }
      case mutation::change_lane:
        return change(l.what.lane, -1, base_.collective_lane() + (base_.offloads ? 4 : 2));
      case mutation::swap_lanes:
        std::swap(l.what.lane, stream[other].what.lane);
        return l.what.lane != stream[other].what.lane;
      case mutation::swap_contents:
        std::swap(l.what.what, stream[other].what.what);
        return l.what.what != stream[other].what.what;
      case mutation::move_to_other_device: {
        auto& target = streams_[pick(streams_.size())];
        if (&target == &stream) return false;
        target.insert(target.begin() + static_cast<std::ptrdiff_t>(pick(target.size() + 1)), l);
        stream.erase(iterator(at));
        return true;
      }
      case mutation::reduce_earlier:
        return l.what.code == ashlar::opcode::all_reduce && at > 0 && move(at, pick(at));
      case mutation::swap_transfers_on_both_sides:
        return swap_transfers(l, stream[other]);
      case mutation::rename_slots:
        return rename_slots();
      case mutation::give_value_a_new_slot:
      case mutation::give_operand_a_new_slot:
        return new_slot(l, m == mutation::give_value_a_new_slot ? at : stream.size());
      case mutation::change_pairing:
        l.what.overlaps_next = !l.what.overlaps_next;
        return true;
      case mutation::change_group:
        return change(l.what.group, -1, base_.groups.count() + 2);
      case mutation::change_subject: {
        int subject = static_cast<int>(l.what.subject);
        bool const changed = change(subject, 0, ashlar::slot_kinds);
        l.what.subject = static_cast<ashlar::slot_kind>(subject);
        return changed;
      }
      case mutation::drop_operand:
        if (l.operands.empty()) return false;
        l.operands.erase(l.operands.begin() + static_cast<std::ptrdiff_t>(pick(l.operands.size())));
        return true;
      case mutation::change_sequence_chunks:
        return change_sequence_chunks();
      case mutation::drop_edge:
        return drop_edge();
      case mutation::swap_reductions: {
        bool const reduce =
            l.what.code == ashlar::opcode::all_reduce && stream[other].what.code == l.what.code;
        if (reduce) std::swap(l, stream[other]);
        return reduce && at != other;
      }
    }
    return false;
  }

  std::vector<line>& stream(int device) { return streams_[static_cast<std::size_t>(device)]; }
  std::vector<ashlar::slot_kind>& slots(int device) { return slots_[static_cast<std::size_t>(device)]; }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::vector<line>::iterator iterator(std::size_t at) {
    return streams_[device_].begin() + static_cast<std::ptrdiff_t>(at);
  }

  // Takes another value of begin .. end - 1.
  bool change(int& value, int begin, int end) {
    int const old = value;
    value = begin + static_cast<int>(pick(static_cast<std::size_t>(end - begin)));
    return value != old;
  }
  bool move(std::size_t from, std::size_t to) {
    if (from < to)
      std::rotate(iterator(from), iterator(from + 1), iterator(to + 1));
    else
      std::rotate(iterator(to), iterator(from), iterator(from + 1));
    return from != to;
  }
  bool exists(int slot) const {
    return slot >= 0 && static_cast<std::size_t>(slot) < slots_[device_].size();
  }
  // Mostly takes a slot of the same kind: that is the harder thing to find.
  bool change_slot(line& l) {
    if (l.operands.empty()) return false;
    ashlar::operand& o = l.operands[pick(l.operands.size())];
    auto const& slots = slots_[device_];
    int const old = o.slot;
    for (int tries = 0; tries < 8; ++tries) {
      o.slot = static_cast<int>(pick(slots.size() + (tries == 7)));
      if (o.slot != old && exists(o.slot) && exists(old)
          && slots[static_cast<std::size_t>(o.slot)] == slots[static_cast<std::size_t>(old)])
        return true;
    }
    return o.slot != old;
  }
  bool swap_transfers(line& a, line& b) {
    bool const moves = a.what.code == ashlar::opcode::send || a.what.code == ashlar::opcode::receive;
    if (!moves || a.what.code != b.what.code || a.what.peer != b.what.peer || &a == &b) return false;
    line *mine = nullptr, *yours = nullptr;
    for (line& l : streams_[static_cast<std::size_t>(a.what.peer)]) {
      if (l.what.code == a.what.code || l.what.peer != static_cast<int>(device_)) continue;
      if (l.what.what == a.what.what && l.what.to == a.what.to) mine = &l;
      if (l.what.what == b.what.what && l.what.to == b.what.to) yours = &l;
    }
    if (mine == nullptr || yours == nullptr) return false;
    std::swap(a, b);
    std::swap(*mine, *yours);
    return true;
  }
  // Takes another number that divides the micro-batches; the instructions stay.
  bool change_sequence_chunks() {
    int const old = base_.graph.sequence_chunks();
    int now = old;
    bool const changed = change(now, 1, base_.micro_batch_count() + 1);
    if (base_.micro_batch_count() % now != 0) return false;
    base_.graph = in_sequence_chunks(base_.graph, now);
    return changed;
  }
  // The program's instructions stay.
  bool drop_edge() {
    std::vector<ashlar::work_edge> edges = ashlar::edges_of(base_.work);
    if (edges.empty()) return false;
    edges.erase(edges.begin() + static_cast<std::ptrdiff_t>(pick(edges.size())));
    try {
      base_.work = ashlar::work_graph(ashlar::jobs_of(base_.work), edges);
    } catch (ashlar::violation const&) {
      return false;  // a sum of nothing
    }
    return true;
  }
  bool rename_slots() {
    auto const& slots = slots_[device_];
    auto const a = static_cast<int>(pick(slots.size())), b = static_cast<int>(pick(slots.size()));
    for (line& l : streams_[device_])
      for (ashlar::operand& o : l.operands) o.slot = o.slot == a ? b : o.slot == b ? a : o.slot;
    std::swap(slots_[device_][static_cast<std::size_t>(a)],
              slots_[device_][static_cast<std::size_t>(b)]);
    return a != b;
  }
  // Gives an operand a new slot; with `from`, if it writes, also all that follow up to the next write.
  bool new_slot(line& l, std::size_t from) {
    if (l.operands.empty()) return false;
    ashlar::operand& o = l.operands[pick(l.operands.size())];
    auto& stream = streams_[device_];
    if (!exists(o.slot) || (from < stream.size() && o.how != ashlar::access::write)) return false;
    int const old = o.slot, fresh = static_cast<int>(slots_[device_].size());
    slots_[device_].push_back(slots_[device_][static_cast<std::size_t>(old)]);
    o.slot = fresh;
    for (std::size_t i = from + 1; i < stream.size(); ++i)
      for (ashlar::operand& later : stream[i].operands) {
        if (later.slot != old) continue;
        if (later.how == ashlar::access::write || later.how == ashlar::access::scratch) return true;
        later.slot = fresh;
      }
    return true;
  }

  ashlar::program base_;
  std::vector<std::vector<line>> streams_;
  std::vector<std::vector<ashlar::slot_kind>> slots_;
  std::size_t device_ = 0;
  std::mt19937 random_;
};

}  // namespace oracle
