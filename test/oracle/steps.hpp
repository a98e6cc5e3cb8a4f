// The fixed part of a program: its instructions as steps on queues, what each must wait for on its
// device, whom it must meet. It also has the faults that show without running.
//
// The notions that are rules rather than accidents of a run, each with its reason:
// - a queue takes only what it is for (a model is called by one thread a device; a communicator
// belongs to one queue);
// - operands come in the order of the instruction's arguments, on slots of their kind (the engine passes
// buffers by position, and sizes them by kind), and say what is done to them (the engine
// derives its waits from that);
// - an instruction may not write a slot that it has another operand on (passes do not work in place);
// - a transfer carries the value that its label says (a backend sizes the message by it);
// - what runs overlapped is a forward and the backward, fused or not, that directly follows it in the
// stream,
// and neither writes what the other uses: they are one event, which needs what both need before it
// starts.
#pragma once

#include "oracle/meaning.hpp"

#include <string>
#include <utility>

namespace oracle {

struct verdict {
  bool good = true;
  std::string why;
  int device = -1;
  int index = -1;
  std::size_t states = 0;  // distinct ones that were reached
};

struct step {
  instruction what;
  int node = 0;   // the device, counted over the data-parallel ranks
  int index = 0;  // in the device's stream
  int place = 0;  // on its queue
  ashlar::list_view<operand> operands;
  std::vector<argument> arguments;  // one an operand, unless something is wrong with the program
};

inline bool conflict(operand x, operand y) {
  return x.slot == y.slot && (x.how != access::read || y.how != access::read);
}
inline bool conflict(step const& a, step const& b) {
  auto const meets = [&b](operand const& x) {
    return std::any_of(b.operands.begin(), b.operands.end(),
                       [&x](operand const& y) { return conflict(x, y); });
  };
  return std::any_of(a.operands.begin(), a.operands.end(), meets);
}

class steps {
 public:
  // `ranks` data-parallel copies of the program, which has to outlive them, each on nodes of its own.
  steps(program const& p, int ranks)
      : p_(p), meaning_(p), ranks_(ranks), lanes_(p.collective_lane() + (p.offloads ? 3 : 1)) {
    queues_.resize(static_cast<std::size_t>(ranks * p.device_count() * lanes_));
    all_.reserve(static_cast<std::size_t>(ranks) * p.instructions.size());
    slot_begin_.push_back(0);
    for (int node = 0; node < ranks * p.device_count(); ++node) {
      int const d = node % p.device_count();
      slot_begin_.push_back(slot_begin_.back() + p.view().slots_of(d).size());
      node_begin_.push_back(all_.size());
      for (instruction const& i : p.view().stream(d)) add(i, node);
      judge_pairs();
    }
  }

  program const& source() const { return p_; }
  meaning const& meant() const { return meaning_; }
  verdict const& fault() const { return fault_; }
  std::vector<step> const& all() const { return all_; }
  std::vector<std::vector<std::size_t>> const& queues() const { return queues_; }
  std::size_t slot_count() const { return slot_begin_.back(); }

  int device_of(step const& s) const { return s.node % p_.device_count(); }
  step const& at(int node, int index) const {
    return all_[node_begin_[static_cast<std::size_t>(node)] + static_cast<std::size_t>(index)];
  }
  // The earlier steps of its device that have to end first; by find_order() alone.
  std::vector<std::size_t> const& after(step const& s) const {
    return after_[node_begin_[static_cast<std::size_t>(s.node)] + static_cast<std::size_t>(s.index)];
  }
  step const& overlapped_with(step const& s) const { return at(s.node, s.index + 1); }
  std::size_t queue_of(int node, int lane) const {
    return static_cast<std::size_t>(node * lanes_ + lane);
  }
  // The queue of transfers with that peer.
  int transfer_queue(int peer, bool receives, bool forward) const {
    switch (p_.lanes) {
      case ashlar::transfer_lanes::one:
        return 1;
      case ashlar::transfer_lanes::one_a_peer:
        return 1 + peer;
      case ashlar::transfer_lanes::one_a_direction:
        return 1 + 2 * peer + (receives ? 1 : 0);
      case ashlar::transfer_lanes::one_a_kind:
        break;
    }
    return forward ? 1 : 2;
  }
  bool is_of_passes(std::size_t queue) const { return queue % static_cast<std::size_t>(lanes_) == 0; }
  std::size_t queue_of(step const& s) const { return queue_of(s.node, s.what.lane); }
  // The slot of an operand, among the slots of all nodes; and the first slot of a node.
  std::size_t slot(step const& s, std::size_t o) const {
    return slot_begin_[static_cast<std::size_t>(s.node)] + static_cast<std::size_t>(s.operands[o].slot);
  }
  std::size_t first_slot(int node) const { return slot_begin_[static_cast<std::size_t>(node)]; }

  // A separate call, as most broken programs are known before they run.
  void find_order() {
    after_.resize(all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i)
      for (std::size_t j = node_begin_[static_cast<std::size_t>(all_[i].node)]; j < i; ++j)
        if (conflict(all_[j], all_[i])) after_[i].push_back(j);
  }

  // The nodes that have to come to the same collective as `s`, its own among them; only its own if it is
  // alone.
  std::vector<int> meeting(step const& s) const {
    int const p = p_.device_count(), own = s.node % p, first = s.node - own;
    std::vector<int> devices{own}, nodes;
    bool across = s.what.code == opcode::all_gather || s.what.code == opcode::reduce_scatter;
    if (s.what.code == opcode::all_reduce) {
      devices = meaning_.holders(s.what.group);
      // A sum of shards stays inside a rank: each has the sum over all ranks of its own shard. If
      // gradients are whole, each rank has the same ones, and so their norm.
      across = s.what.subject == slot_kind::weight_gradient
               || (s.what.subject == slot_kind::scalar && meaning_.is_sharded())
               || (meaning::is_work(s.what) && meaning_.sums_over_ranks(s.what.what.stage));
    }
    for (int rank = 0; rank < ranks_; ++rank)
      for (int d : devices)
        if (across || rank * p == first) nodes.push_back(rank * p + d);
    return nodes;
  }
  // Whether two steps are one event, provided that both are up.
  static bool meet(step const& a, step const& b) {
    return a.what.code == b.what.code && a.what.group == b.what.group;
  }

  // Whether instruction `a` cannot end before `b` has ended or, at a meeting, come up. Both are on one
  // rank.
  bool waits_for(int device_a, int index_a, int device_b, int index_b) const {
    step const& a = at(device_a, index_a);
    step const& b = at(device_b, index_b);
    if (device_a == device_b)
      return index_b < index_a
             && (a.what.lane == b.what.lane || conflict(a, b)
                 || (a.what.overlaps_next && conflict(overlapped_with(a), b)));
    if (a.what.code == opcode::all_reduce) return meet(a, b);
    bool const opposite = (a.what.code == opcode::send && b.what.code == opcode::receive)
                          || (a.what.code == opcode::receive && b.what.code == opcode::send);
    return opposite && a.what.peer == device_b && b.what.peer == device_a && rank(a) == rank(b);
  }

 private:
  void fail(step const& s, char const* why) {
    if (fault_.good) fault_ = {.good = false, .why = why, .device = device_of(s), .index = s.index};
  }

  void add(instruction const& i, int node) {
    step s;
    s.what = i;
    s.node = node;
    s.index = static_cast<int>(all_.size() - node_begin_.back());
    s.operands = p_.view().operands_of(i);
    if (fault_.good) judge(s);
    if (i.lane >= 0 && i.lane < lanes_) {
      auto& queue = queues_[queue_of(s)];
      s.place = static_cast<int>(queue.size());
      queue.push_back(all_.size());
    }
    all_.push_back(std::move(s));
  }

  void judge(step& s) {
    int const device = device_of(s);
    auto const slots = p_.view().slots_of(device);
    auto arguments = meaning_.arguments(s.what, device);
    if (!arguments) return fail(s, "there is no such pass, transfer or collective here");
    if (s.what.lane != queue_for(s.what)) return fail(s, "on a queue that is not for it");
    if (arguments->size() != s.operands.size()) return fail(s, "other operands than it has arguments");
    s.arguments = std::move(*arguments);
    for (std::size_t o = 0; o < s.operands.size(); ++o) {
      int const slot = s.operands[o].slot;
      if (slot < 0 || slot >= static_cast<int>(slots.size()))
        fail(s, "no such slot");
      else if (s.operands[o].how != s.arguments[o].how
               || slots[static_cast<std::size_t>(slot)] != s.arguments[o].value.kind)
        fail(s, "an operand of another kind or use");
      for (std::size_t other = 0; other < o; ++other)
        if (conflict(s.operands[other], s.operands[o])) fail(s, "writes what it still reads");
    }
  }

  // Judges the pairs of the device that was added last.
  void judge_pairs() {
    for (std::size_t i = node_begin_.back(); i < all_.size(); ++i) {
      if (!all_[i].what.overlaps_next) continue;
      bool const follows = i + 1 < all_.size();
      instruction const& ahead = all_[i].what;
      instruction const& back = all_[follows ? i + 1 : i].what;
      if (!follows || back.overlaps_next || ahead.code != opcode::compute || back.code != opcode::compute
          || ahead.what.kind != pass_kind::forward
          || (back.what.kind != pass_kind::backward && back.what.kind != pass_kind::backward_input
              && back.what.kind != pass_kind::backward_weight)
          || ahead.lane != back.lane || conflict(all_[i], all_[i + 1]))
        fail(all_[i], "overlapped with what it cannot be");
    }
  }

  int queue_for(instruction const& i) const {
    switch (i.code) {
      case opcode::compute:
      case opcode::measure:
      case opcode::optimize:
        return 0;
      case opcode::send:
      case opcode::receive:
        return transfer_queue(i.peer, i.code == opcode::receive,
                              i.what.kind == ashlar::pass_kind::forward);
      case opcode::clear:
        return i.subject == slot_kind::gradient_shard ? p_.collective_lane() : 0;
      case opcode::all_reduce:
        return !meaning::is_work(i) && meaning_.holders(i.group).size() == 1 && p_.data_ranks == 1
                   ? 0
                   : p_.collective_lane();
      case opcode::offload:
        return p_.collective_lane() + 1;
      case opcode::reload:
        return p_.collective_lane() + 2;
      default:
        return p_.collective_lane();
    }
  }

  // Counts the earlier transfers between the same two devices in the same direction.
  int rank(step const& s) const {
    int before = 0;
    for (step const& t : all_)
      before += t.node == s.node && t.index < s.index && t.what.code == s.what.code
                && t.what.peer == s.what.peer;
    return before;
  }

  program const& p_;
  meaning meaning_;
  int ranks_;
  int lanes_;
  std::vector<step> all_;                         // node by node
  std::vector<std::size_t> node_begin_;           // in all_
  std::vector<std::vector<std::size_t>> after_;   // by step
  std::vector<std::size_t> slot_begin_;           // in a state's slots
  std::vector<std::vector<std::size_t>> queues_;  // by node and lane
  verdict fault_;
};

}  // namespace oracle
