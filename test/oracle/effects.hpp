// The effects of a step on the slots of its device, and those that must not happen.
#pragma once

#include "oracle/steps.hpp"

namespace oracle {

// Each function returns what is wrong, or null.
class effects {
 public:
  explicit effects(steps const& all) : all_(all) {}

  char const* use(state& now, step const& s) const {
    char const* wrong = nullptr;
    for (std::size_t o = 0; o < s.operands.size() && wrong == nullptr; ++o)
      wrong = use(now, s, s.arguments[o], now.slots[all_.slot(s, o)]);
    if (wrong == nullptr && s.what.code == opcode::reduce_scatter) wrong = scatter(now, s);
    return wrong;
  }

  // The value itself goes from slot to slot.
  char const* deliver(state const& before, state& now, step const& from, step const& to) const {
    tag const arrives = before.slots[all_.slot(from, 0)].value;
    if (arrives != to.arguments[0].value) return "receives another value";
    now.slots[all_.slot(to, 0)].value = arrives;
    return nullptr;
  }

  char const* at_the_end(state const& now) const {
    for (content const& c : now.slots)
      if (c.bits != 0 && c.value.kind == slot_kind::weight)
        return "gathered weights are not given up";
      else if (is_gradient(c.value.kind) && c.bits == cleared)
        return "cleared for nothing";
      else if (c.bits != 0 && !is_gradient(c.value.kind) && c.value.kind != slot_kind::scalar
               && c.value.kind != slot_kind::work_state)
        return "a value is left unread";
    return nullptr;
  }

 private:
  static bool is_gradient(slot_kind kind) {
    return kind == slot_kind::weight_gradient || kind == slot_kind::gradient_shard;
  }

  char const* use(state const& now, step const& s, argument const& a, content& c) const {
    if (a.value.kind == slot_kind::weight) return use_weights(now, s, a, c);
    if (a.value.kind == slot_kind::scalar) return use_scalar(a, c);
    if (is_gradient(a.value.kind)) return use_gradient(now, s, a, c);
    if (a.value.kind == slot_kind::work_state) return use_state(now, s, a, c);
    switch (a.how) {
      case access::read:
        if (c.value != a.value) return "reads another value";
        if ((c.bits & a.bits) == 0) return "reads what it has read before";
        c.bits &= ~a.bits;
        return nullptr;
      case access::write:
      case access::scratch:
        if (c.bits != 0) return "overwrites what is still to be read";
        c = {a.bits == 0 ? tag{} : a.value, a.bits};
        return nullptr;
      case access::accumulate:  // a sum in place of what nobody else reads
        if (a.value.kind != slot_kind::work) break;
        if (c.value != all_.meant().summed(a.value) || c.bits != 1) return "sums another value";
        c = {a.bits == 0 ? tag{} : a.value, a.bits};
        return nullptr;
    }
    return "uses a slot in an unknown way";
  }

  // State is there before the step, in one slot. Its clear is the last that happens to it.
  char const* use_state(state const& now, step const& s, argument const& a, content& c) const {
    if (c.bits == 0)
      for (std::size_t i = all_.first_slot(s.node); i < all_.first_slot(s.node + 1); ++i)
        if (now.slots[i].value == a.value) return "state in two slots";
    if (c.bits != 0 && c.value != a.value) return "adds to the state of another job";
    if ((c.bits & cleared) != 0) return "uses a state that is cleared";
    c = {a.value, c.bits | a.bits | resident};
    return nullptr;
  }

  // Work takes what one micro-batch has added out of the accumulator, or puts in what it has made of all
  // that was taken: what is in its state or, without a state, in what it has read.
  char const* use_taken(state const& now, step const& s, argument const& a, content& c) const {
    unsigned const inside = c.bits & micro_batch_bits;
    if ((c.bits & reduced) != 0) return "takes or gives a gradient that is reduced";
    if (all_.meant().takes_gradient(s.what.what)) {
      if (inside != a.bits) return "takes other micro-batches than its own";
      c.bits = (c.bits & ~inside) | inside << taken_shift;
      return nullptr;
    }
    if (inside != 0) return "gives over a gradient that is not taken";
    unsigned made = c.bits >> taken_shift;
    for (std::size_t o = 0; o < s.arguments.size(); ++o)
      if (s.arguments[o].value.kind == slot_kind::work_state)
        made = now.slots[all_.slot(s, o)].bits >> state_shift;
    c.bits |= made & micro_batch_bits;
    return nullptr;
  }

  // A stage's weights lie in one buffer at a time, from the gather to the release, and some pass uses
  // them in between.
  char const* use_weights(state const& now, step const& s, argument const& a, content& c) const {
    if (a.how == access::write) {
      if (c.bits != 0) return "gathers over weights that are not given up";
      for (std::size_t i = all_.first_slot(s.node); i < all_.first_slot(s.node + 1); ++i)
        if (now.slots[i].value == a.value) return "gathers what is there";
      c = {a.value, a.bits};
    } else if (a.how == access::read) {
      if (c.value != a.value) return "a pass without its weights";
      c.bits |= a.bits;
    } else {
      if (c.value != a.value) return "gives up what is not there";
      if (c.bits != a.bits) return "gathered for nothing";
      c = {};
    }
    return nullptr;
  }

  char const* use_scalar(argument const& a, content& c) const {
    if (a.how == access::write) {
      if (c.bits != 0) return "measures twice";
      c = {a.value, a.bits};
    } else if (c.value != a.value || c.bits != (a.how == access::read ? sum : part)) {
      return "a norm that is not there, or is there already";
    } else {
      c.bits = sum;
    }
    return nullptr;
  }

  char const* use_gradient(state const& now, step const& s, argument const& a, content& c) const {
    unsigned const inside = c.bits & micro_batch_bits;
    if (a.how == access::write) {  // zeros
      for (std::size_t i = all_.first_slot(s.node); i < all_.first_slot(s.node + 1); ++i)
        if (now.slots[i].value == a.value && now.slots[i].bits != 0) return "clears a gradient twice";
      if (c.bits != 0) return "clears over another gradient";
      c = {a.value, cleared};
      return nullptr;
    }
    if (c.value != a.value || (c.bits & cleared) == 0) return "a gradient that is not there";
    if (a.how == access::read) {
      if (s.what.code == opcode::reduce_scatter) return nullptr;  // looked at with its shard
      if ((c.bits & reduced) == 0) return "uses a gradient before it is reduced";
      if ((c.bits & stepped) != 0) return "uses a gradient that is used up";
      c.bits |= a.bits;
      return nullptr;
    }
    if (meaning::is_work(s.what)) return use_taken(now, s, a, c);
    if ((c.bits & (a.bits | reduced)) != 0) return "adds too late or twice";
    c.bits |= a.bits;
    if (s.what.code != opcode::all_reduce) return nullptr;
    if (inside != all_.meant().contributions(all_.device_of(s), a.value.stage))
      return "reduces an incomplete gradient";
    c.bits |= reduced;
    return nullptr;
  }

  // The contents of the buffer go into the shard.
  char const* scatter(state& now, step const& s) const {
    content &whole = now.slots[all_.slot(s, 0)], &shard = now.slots[all_.slot(s, 1)];
    unsigned const inside = whole.bits & ~cleared;
    if (inside == 0) return "scatters nothing";
    if ((inside & shard.bits) != 0) return "scatters what is in the shard";
    shard.bits |= inside;
    whole = {};
    return nullptr;
  }

  steps const& all_;
};

}  // namespace oracle
