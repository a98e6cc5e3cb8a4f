// A machine that executes a program in every possible order and watches the values.
//
// Each device has its queues (lanes). A queue takes its instructions one after the other. An instruction
// starts when every earlier instruction of its device's stream that shares a slot with it has ended,
// unless both only read it. A send and a receive are one event, which happens when both are up: the k-th
// send of one device to another meets the k-th receive there. So are the reductions of a stage on all
// its devices. Slots hold tags, which only the execution moves.
//
// The notions that are rules rather than accidents of a run, each with its reason:
//   - a reduction names its replica's place in the order of the routes (gradients are summed in that
//     order, so that a sequential run can give the same bits);
//   - a queue takes only what it is for (a model is called by one thread a device; a communicator
//     belongs to one queue);
//   - operands come in the order of the instruction's arguments, on slots of their kind (the engine
//     passes buffers by position, and sizes them by kind), and say what is done to them (the engine
//     derives its waits from that);
//   - an instruction may not write a slot that it has another operand on (passes do not work in place);
//   - a transfer carries the value that its label says (a backend sizes the message by it);
//   - what runs overlapped is a forward and the fused backward that directly follows it in the stream,
//   and
//     neither writes what the other uses: they are one event, which needs what both need before it
//     starts.
#pragma once

#include "oracle/state.hpp"

#include <string>
#include <unordered_set>
#include <utility>

namespace oracle {

struct verdict {
  bool good = true;
  std::string why;
  int device = -1;
  int index = -1;
  std::size_t states = 0;  // distinct ones that were reached
};

class machine {
 public:
  explicit machine(program const& p) : p_(p), meaning_(p), lanes_(p.collective_lane() + 1) {
    queues_.resize(static_cast<std::size_t>(p.device_count() * lanes_));
    slot_begin_.push_back(0);
    for (int d = 0; d < p.device_count(); ++d) {
      slot_begin_.push_back(slot_begin_.back() + p.view().slots_of(d).size());
      device_begin_.push_back(steps_.size());
      for (instruction const& i : p.view().stream(d)) add(i, d);
      judge_pairs();
    }
    device_begin_.push_back(steps_.size());
  }

  verdict explore(std::size_t limit = 20'000'000) {
    if (!fault_.good) return fault_;
    if (!meaning_.is_whole())
      return {.good = false, .why = "not every pass and reduction is there once"};
    std::unordered_set<state, state_hash> seen;
    state first;
    first.at.resize(queues_.size(), 0);
    first.slots.resize(slot_begin_.back());
    std::vector<state> open{first};
    seen.insert(std::move(first));
    while (!open.empty()) {
      state const now = std::move(open.back());
      open.pop_back();
      std::vector<state> next = successors(now);
      if (next.empty() && fault_.good) judge_end(now);
      if (!fault_.good || seen.size() > limit) {
        if (fault_.good) fault_ = {.good = false, .why = "too many states to explore"};
        break;
      }
      for (state& n : next)
        if (seen.insert(n).second) open.push_back(std::move(n));
    }
    fault_.states = seen.size();
    return fault_;
  }

  // Whether instruction `a` cannot end before `b` has ended or, at a meeting, come up.
  bool waits_for(int device_a, int index_a, int device_b, int index_b) const {
    step const& a = steps_[id(device_a, index_a)];
    step const& b = steps_[id(device_b, index_b)];
    if (device_a == device_b)
      return index_b < index_a
             && (a.what.lane == b.what.lane || conflict(a, b)
                 || (a.what.with_next && conflict(steps_[id(device_a, index_a + 1)], b)));
    if (a.what.code == opcode::reduce)
      return b.what.code == opcode::reduce && a.what.what.stage == b.what.what.stage;
    bool const opposite = (a.what.code == opcode::send && b.what.code == opcode::receive)
                          || (a.what.code == opcode::receive && b.what.code == opcode::send);
    return opposite && a.what.peer == device_b && b.what.peer == device_a && rank(a) == rank(b);
  }

 private:
  struct step {
    instruction what;
    int device = 0;
    int index = 0;
    int place = 0;  // on its queue
    std::vector<operand> operands;
    std::vector<argument> arguments;
    std::vector<std::size_t> after;  // earlier steps of the device that have to end first
  };
  static constexpr unsigned reduced = 1U << 31;

  static bool conflict(step const& a, step const& b) {
    auto const meets = [&b](operand const& x) {
      return std::any_of(b.operands.begin(), b.operands.end(),
                         [&x](operand const& y) { return conflict(x, y); });
    };
    return std::any_of(a.operands.begin(), a.operands.end(), meets);
  }
  static bool conflict(operand x, operand y) {
    return x.slot == y.slot && (x.how != access::read || y.how != access::read);
  }

  void fail(step const& s, char const* why) {
    if (fault_.good) fault_ = {.good = false, .why = why, .device = s.device, .index = s.index};
  }

  void add(instruction const& i, int device) {
    step s;
    s.what = i;
    s.device = device;
    s.index = static_cast<int>(steps_.size() - device_begin_.back());
    for (operand const& o : p_.view().operands_of(i)) s.operands.push_back(o);
    auto const slots = p_.view().slots_of(device);
    auto const arguments = meaning_.arguments(i, device);
    if (!arguments) {
      fail(s, "there is no such pass or transfer here");
    } else if (i.lane != queue_for(i)) {
      fail(s, "on a queue that is not for it");
    } else if (arguments->size() != s.operands.size()) {
      fail(s, "other operands than it has arguments");
    } else {
      s.arguments = *arguments;
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
    for (std::size_t j = device_begin_.back(); j < steps_.size(); ++j)
      if (conflict(steps_[j], s)) s.after.push_back(j);
    if (i.lane >= 0 && i.lane < lanes_) {
      auto& queue = queues_[static_cast<std::size_t>(device * lanes_ + i.lane)];
      s.place = static_cast<int>(queue.size());
      queue.push_back(steps_.size());
    }
    steps_.push_back(std::move(s));
  }

  // Of the device that was added last.
  void judge_pairs() {
    for (std::size_t i = device_begin_.back(); i < steps_.size(); ++i) {
      if (!steps_[i].what.with_next) continue;
      bool const follows = i + 1 < steps_.size();
      instruction const& ahead = steps_[i].what;
      instruction const& back = steps_[follows ? i + 1 : i].what;
      if (!follows || back.with_next || ahead.code != opcode::compute || back.code != opcode::compute
          || ahead.what.kind != pass_kind::forward || back.what.kind != pass_kind::backward
          || ahead.lane != back.lane || conflict(steps_[i], steps_[i + 1]))
        fail(steps_[i], "overlapped with what it cannot be");
    }
  }

  int queue_for(instruction const& i) const {
    if (i.code == opcode::compute) return 0;
    if (i.code == opcode::reduce) return meaning_.devices_of(i.what.stage).size() > 1 ? lanes_ - 1 : 0;
    return p_.lanes == ashlar::transfer_lanes::one ? 1 : 1 + i.peer;
  }

  std::size_t id(int device, int index) const {
    return device_begin_[static_cast<std::size_t>(device)] + static_cast<std::size_t>(index);
  }
  std::size_t queue_of(step const& s) const {
    return static_cast<std::size_t>(s.device * lanes_ + s.what.lane);
  }
  // How many transfers between the same two devices in the same direction come before.
  int rank(step const& s) const {
    int before = 0;
    for (step const& t : steps_)
      before += t.device == s.device && t.index < s.index && t.what.code == s.what.code
                && t.what.peer == s.what.peer;
    return before;
  }

  // The step that is up on a queue and may start; null if none.
  step const* up(state const& now, std::size_t queue) const {
    std::size_t const at = now.at[queue];
    if (at >= queues_[queue].size()) return nullptr;
    step const& s = steps_[queues_[queue][at]];
    for (std::size_t j : s.after)
      if (!has_ended(now, steps_[j])) return nullptr;
    if (s.what.with_next)
      for (std::size_t j : overlapped_with(s).after)
        if (!has_ended(now, steps_[j])) return nullptr;
    return &s;
  }
  bool has_ended(state const& now, step const& s) const {
    return static_cast<int>(now.at[queue_of(s)]) > s.place;
  }
  step const& overlapped_with(step const& s) const { return steps_[id(s.device, s.index + 1)]; }

  std::vector<state> successors(state const& now) {
    std::vector<state> next;
    for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
      step const* const s = up(now, queue);
      if (s == nullptr) continue;
      std::vector<step const*> together{s};
      if (s->what.code == opcode::receive) continue;  // happens with its send
      if (s->what.code == opcode::send) {
        int const lane = p_.lanes == ashlar::transfer_lanes::one ? 1 : 1 + s->device;
        step const* const other = up(now, static_cast<std::size_t>(s->what.peer * lanes_ + lane));
        if (other == nullptr || other->what.code != opcode::receive || other->what.peer != s->device)
          continue;
        together.push_back(other);
      } else if (s->what.code == opcode::reduce) {
        together.clear();
        for (int d : meaning_.devices_of(s->what.what.stage)) {
          step const* const t = up(now, static_cast<std::size_t>(d * lanes_ + s->what.lane));
          if (t != nullptr && t->what.code == opcode::reduce && t->what.what.stage == s->what.what.stage)
            together.push_back(t);
        }
        if (together.size() < meaning_.devices_of(s->what.what.stage).size() || together[0] != s)
          continue;
      } else if (s->what.with_next) {
        together.push_back(&overlapped_with(*s));
      }
      state after = now;
      for (step const* t : together) {
        for (step const& other : steps_)
          if (hands_over(other, *t) && !has_ended(now, other))
            fail(*t, "a sequence chunk before the one that it needs");
        use(after, *t);
        ++after.at[queue_of(*t)];
      }
      if (s->what.code == opcode::send) deliver(now, after, *s, *together[1]);
      if (!fault_.good) return {};
      next.push_back(std::move(after));
    }
    return next;
  }

  // Whether `a` is the pass of the neighbouring sequence chunk that `b` needs on their stage.
  bool hands_over(step const& a, step const& b) const {
    int const q = p_.graph.sequence_chunks();
    if (q == 1 || a.what.code != opcode::compute || b.what.code != opcode::compute
        || a.device != b.device || a.what.what.stage != b.what.what.stage)
      return false;
    int const from = a.what.what.micro_batch, to = b.what.what.micro_batch;
    if (from / q != to / q) return false;
    if (b.what.what.kind == pass_kind::forward)
      return a.what.what.kind == pass_kind::forward && from + 1 == to;
    return gives_input_gradient(b.what.what.kind) && gives_input_gradient(a.what.what.kind)
           && from == to + 1;
  }

  std::size_t slot(step const& s, std::size_t o) const {
    return slot_begin_[static_cast<std::size_t>(s.device)]
           + static_cast<std::size_t>(s.operands[o].slot);
  }

  // What a step does to the slots of its device.
  void use(state& now, step const& s) {
    for (std::size_t o = 0; o < s.operands.size(); ++o) {
      argument const& a = s.arguments[o];
      content& c = now.slots[slot(s, o)];
      switch (a.how) {
        case access::read:
          if (c.value != a.value) return fail(s, "reads another value");
          if ((c.bits & a.bits) == 0) return fail(s, "reads what it has read before");
          c.bits &= ~a.bits;
          break;
        case access::write:
        case access::scratch:
          if (c.bits != 0) return fail(s, "overwrites what is still to be read");
          c = {a.bits == 0 ? tag{} : a.value, a.bits};
          break;
        case access::accumulate:
          if (c.bits == 0) c.value = a.value;  // zeros
          if (c.value != a.value) return fail(s, "adds to another gradient");
          if ((c.bits & (a.bits | reduced)) != 0) return fail(s, "adds too late or twice");
          if (s.what.code == opcode::reduce) {
            if (c.bits != meaning_.contributions(s.device, a.value.stage))
              return fail(s, "reduces an incomplete gradient");
            c.bits |= reduced;
          } else {
            c.bits |= a.bits;
          }
          break;
      }
    }
  }

  // The value itself goes from slot to slot; an activation arrives as the copy for the next stage.
  void deliver(state const& before, state& now, step const& from, step const& to) {
    tag arrives = before.slots[slot(from, 0)].value;
    if (arrives.kind == slot_kind::activation) arrives.to = from.what.to;
    if (arrives != to.arguments[0].value) fail(to, "receives another value");
    now.slots[slot(to, 0)].value = arrives;
  }

  void judge_end(state const& now) {
    for (std::size_t queue = 0; queue < queues_.size(); ++queue)
      if (now.at[queue] < queues_[queue].size())
        return fail(steps_[queues_[queue][now.at[queue]]], "waits for ever");
    for (content const& c : now.slots)
      if (c.bits != 0 && c.value.kind != slot_kind::weight_gradient)
        fault_ = {.good = false, .why = "a value is left unread"};
  }

  program const& p_;
  meaning meaning_;
  int lanes_;
  std::vector<step> steps_;                       // device by device
  std::vector<std::size_t> device_begin_;         // in steps_
  std::vector<std::size_t> slot_begin_;           // in a state's slots
  std::vector<std::vector<std::size_t>> queues_;  // by device and lane
  verdict fault_;
};

}  // namespace oracle
