// A machine that executes a program in every possible order and watches the values.
//
// Each device has its queues (lanes). A queue takes its instructions one after the other. An instruction
// starts when every earlier instruction of its device's stream that shares a slot with it has ended,
// unless both only read it. A send and a receive are one event, which happens when both are up: the k-th
// send of one device to another meets the k-th receive there. So are the reductions of a stage on all
// its devices, the gathers and scatters of a stage on all data-parallel ranks, and the statistics of all
// devices and ranks. Slots hold tags, which only the execution moves.
//
// With a window of k, the queue of passes may take any of its next k that can start: a pass of a stage,
// with none but such passes before it that have not ended, and none of these of its own kind and stage.
#pragma once

#include "oracle/effects.hpp"
#include "oracle/state_set.hpp"

#include <utility>

namespace oracle {

class machine {
 public:
  // One rank stands for all, unless more are to be run side by side.
  explicit machine(program const& p, int ranks = 1, std::size_t window = 1)
      : all_(p, ranks), effects_(all_), fault_(all_.fault()), window_(window) {}
  machine(machine const&) = delete;
  machine& operator=(machine const&) = delete;

  verdict explore(std::size_t limit = 20'000'000) {
    if (!fault_.good) return fault_;
    if (!all_.meant().is_whole())
      return {.good = false, .why = "not every pass, reduction and step is there once"};
    all_.find_order();
    state first;
    first.at.resize(all_.queues().size(), 0);
    first.ahead.resize(all_.queues().size(), 0);
    first.slots.resize(all_.slot_count());
    state_set seen(first);
    seen.insert(first);
    std::vector<std::size_t> open{0};
    state now = first, after;  // here, so that they keep their memory
    while (!open.empty() && fault_.good) {
      seen.get(open.back(), now);
      open.pop_back();
      bool ends = true;
      for (std::size_t queue = 0; queue < all_.queues().size(); ++queue) {
        for (std::size_t offset = 0; offset < (all_.is_of_passes(queue) ? window_ : 1); ++offset) {
          if (!advance(now, queue, offset, after)) continue;
          ends = false;
          if (seen.insert(after)) open.push_back(seen.size() - 1);
        }
      }
      if (ends && fault_.good) judge_end(now);
      if (fault_.good && seen.size() > limit)
        fault_ = {.good = false, .why = "too many states to explore"};
    }
    fault_.states = seen.size();
    return fault_;
  }

 private:
  void fail(step const& s, char const* why) {
    if (fault_.good && why != nullptr)
      fault_ = {.good = false, .why = why, .device = all_.device_of(s), .index = s.index};
  }

  static bool may_go_ahead(step const& s) {
    return s.what.code == opcode::compute && s.what.what.kind != pass_kind::work;
  }

  // The step at this offset behind the next one of a queue, if it may start; null if not.
  step const* up(state const& now, std::size_t queue, std::size_t offset = 0) const {
    std::size_t const at = now.at[queue] + offset;
    if (at >= all_.queues()[queue].size() || (now.ahead[queue] >> offset & 1U) != 0) return nullptr;
    step const& s = all_.all()[all_.queues()[queue][at]];
    for (std::size_t k = 0; k < offset; ++k) {
      if ((now.ahead[queue] >> k & 1U) != 0) continue;
      step const& left = all_.all()[all_.queues()[queue][now.at[queue] + k]];
      if (!may_go_ahead(left) || !may_go_ahead(s)) return nullptr;
      if (left.what.what.kind == s.what.what.kind && left.what.what.stage == s.what.what.stage)
        return nullptr;
      if (left.what.overlaps_next && k + 1 == offset) return nullptr;
    }
    for (std::size_t j : all_.after(s))
      if (!has_ended(now, all_.all()[j])) return nullptr;
    if (s.what.overlaps_next)
      for (std::size_t j : all_.after(all_.overlapped_with(s)))
        if (!has_ended(now, all_.all()[j])) return nullptr;
    return &s;
  }
  bool has_ended(state const& now, step const& s) const {
    std::size_t const queue = all_.queue_of(s);
    int const behind = s.place - static_cast<int>(now.at[queue]);
    return behind < 0 || (behind < 16 && (now.ahead[queue] >> behind & 1) != 0);
  }
  void end(state& now, step const& s) const {
    std::size_t const queue = all_.queue_of(s);
    now.ahead[queue] = static_cast<std::uint16_t>(
        now.ahead[queue] | 1U << static_cast<unsigned>(s.place - static_cast<int>(now.at[queue])));
    for (; (now.ahead[queue] & 1U) != 0; ++now.at[queue]) now.ahead[queue] >>= 1U;
  }

  // The steps that happen at once with `s`, which is up, `s` first; nothing if that cannot happen yet,
  // or is counted with another member of the meeting.
  std::vector<step const*> event(state const& now, step const& s) const {
    if (s.what.code == opcode::receive) return {};  // happens with its send
    if (s.what.code == opcode::send) {
      int const own = all_.device_of(s), peer = s.node - own + s.what.peer;
      int const lane = all_.transfer_queue(own, true, s.what.what.kind == ashlar::pass_kind::forward);
      step const* const other = up(now, all_.queue_of(peer, lane));
      if (other == nullptr || other->what.code != opcode::receive || other->what.peer != own) return {};
      return {&s, other};
    }
    if (s.what.overlaps_next) return {&s, &all_.overlapped_with(s)};
    if (s.what.code == opcode::compute) return {&s};
    std::vector<step const*> together;
    for (int node : all_.meeting(s)) {
      step const* const t = up(now, all_.queue_of(node, s.what.lane));
      if (t == nullptr || !steps::meet(s, *t)) return {};
      together.push_back(t);
    }
    if (together[0] != &s) return {};
    return together;
  }

  // Computes the state `after` the event whose first step is the queue's at this offset; false if
  // nothing can happen there now, or must not.
  bool advance(state const& now, std::size_t queue, std::size_t offset, state& after) {
    step const* const s = up(now, queue, offset);
    if (s == nullptr) return false;
    std::vector<step const*> const together = event(now, *s);
    if (together.empty()) return false;
    after = now;
    for (step const* t : together) {
      fail(*t, effects_.use(after, *t));
      end(after, *t);
    }
    if (s->what.code == opcode::send && fault_.good)
      fail(*together[1], effects_.deliver(now, after, *s, *together[1]));
    return fault_.good;
  }

  void judge_end(state const& now) {
    for (std::size_t queue = 0; queue < all_.queues().size(); ++queue)
      if (now.at[queue] < all_.queues()[queue].size())
        return fail(all_.all()[all_.queues()[queue][now.at[queue]]], "waits for ever");
    if (char const* const why = effects_.at_the_end(now)) fault_ = {.good = false, .why = why};
  }

  steps all_;
  effects effects_;
  verdict fault_;
  std::size_t window_;
};

}  // namespace oracle
