// What a step does to the slots of its device, and what of that must not happen.
#pragma once

#include "oracle/steps.hpp"

namespace oracle {

// Each returns what is wrong, or null.
class effects {
 public:
  explicit effects(steps const& all) : all_(all) {}

  char const* use(state& now, step const& s) const {
    char const* wrong = nullptr;
    for (std::size_t o = 0; o < s.operands.size() && wrong == nullptr; ++o)
      wrong = use(now, s, s.arguments[o], now.slots[all_.slot(s, o)]);
    if (wrong == nullptr && s.what.code == opcode::reduce_scatter) wrong = scatter(now, s);
    if (wrong == nullptr && s.what.code == opcode::statistics) wrong = measure(now, s);
    return wrong;
  }

  // The value itself goes from slot to slot; an activation arrives as the copy for the next stage.
  char const* deliver(state const& before, state& now, step const& from, step const& to) const {
    tag arrives = before.slots[all_.slot(from, 0)].value;
    if (arrives.kind == slot_kind::activation) arrives.to = from.what.to;
    if (arrives != to.arguments[0].value) return "receives another value";
    now.slots[all_.slot(to, 0)].value = arrives;
    return nullptr;
  }

  char const* at_the_end(state const& now) const {
    for (content const& c : now.slots)
      if (c.bits != 0 && c.value.kind == slot_kind::weight)
        return "gathered weights are not given up";
      else if (c.bits != 0 && c.value.kind != slot_kind::weight_gradient
               && c.value.kind != slot_kind::gradient_shard)
        return "a value is left unread";
    return nullptr;
  }

 private:
  char const* use(state const& now, step const& s, argument const& a, content& c) const {
    if (a.value.kind == slot_kind::weight) return use_weights(now, s, a, c);
    switch (a.how) {
      case access::read:
        if (s.what.code == opcode::statistics) return nullptr;  // looked at together
        if (c.value != a.value) return "reads another value";
        if ((c.bits & a.bits) == 0) return "reads what it has read before";
        c.bits &= ~a.bits;
        return nullptr;
      case access::write:
      case access::scratch:
        if (c.bits != 0) return "overwrites what is still to be read";
        c = {a.bits == 0 ? tag{} : a.value, a.bits};
        return nullptr;
      case access::accumulate:
        return add(s, a, c);
    }
    return "uses a slot in an unknown way";
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

  char const* add(step const& s, argument const& a, content& c) const {
    if (s.what.code == opcode::optimize) {
      if (c.value != a.value || (c.bits & reduced) == 0) return "steps before its gradient is reduced";
      if ((c.bits & stepped) != 0) return "steps twice";
      c.bits |= stepped;
      return nullptr;
    }
    if (c.bits == 0) c.value = a.value;  // zeros
    if (c.value != a.value) return "adds to another gradient";
    if ((c.bits & (a.bits | reduced)) != 0) return "adds too late or twice";
    c.bits |= a.bits;
    if (s.what.code != opcode::all_reduce) return nullptr;
    if (c.bits != all_.meant().contributions(all_.device_of(s), a.value.stage))
      return "reduces an incomplete gradient";
    c.bits |= reduced;
    return nullptr;
  }

  // What is in the buffer goes into the shard, and leaves zeros.
  char const* scatter(state& now, step const& s) const {
    content &part = now.slots[all_.slot(s, 0)], &shard = now.slots[all_.slot(s, 1)];
    if (part.bits == 0) return "scatters nothing";
    if ((part.bits & shard.bits) != 0) return "scatters what is in the shard";
    shard.bits |= part.bits;
    part = {};
    return nullptr;
  }

  // Every gradient of the device once, each complete and not yet used up.
  char const* measure(state const& now, step const& s) const {
    std::set<int> seen;
    for (std::size_t o = 0; o < s.operands.size(); ++o) {
      content const& c = now.slots[all_.slot(s, o)];
      if ((c.bits & reduced) == 0) return "statistics of a gradient that is not reduced";
      if ((c.bits & stepped) != 0) return "statistics of a gradient that is used up";
      if (!seen.insert(c.value.stage).second) return "statistics see a gradient twice";
    }
    return nullptr;
  }

  steps const& all_;
};

}  // namespace oracle
