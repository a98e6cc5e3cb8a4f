// The slots of an adversarial device, and whether instructions find in them what they need.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/program/slot_sizes.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/frame.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace adversary {

using namespace ashlar;

// Slots are spoilt before they are written and when nobody will read them; sums, which are read after
// the step, before each step. Only the state of work stays. An instruction needs all that it may read,
// even if its worker does not, and nobody else may change that while it runs.
class slot_memory {
 public:
  slot_memory(program_view const& p, int device) {
    list_view<instruction> const stream = p.stream(device);
    list_view<slot_kind> const kinds = p.slots_of(device);
    for (slot_kind kind : kinds) {
      away_.push_back(is_on_host(kind));
      keeps_.push_back(kind == slot_kind::work_state);
      sums_.push_back(kind == slot_kind::weight_gradient || kind == slot_kind::gradient_shard
                      || kind == slot_kind::scalar);
    }
    changes_.resize(kinds.size(), 0);
    std::vector<int> before = changes_;
    std::vector<std::size_t> value(kinds.size(), none);  // by slot
    for (instruction const& i : stream) {
      std::vector<use>& uses = uses_.emplace_back();
      if (i.code == opcode::release) {  // who reads later finds what is spoilt
        for (operand const& o : p.operands_of(i)) value[static_cast<std::size_t>(o.slot)] = none;
        continue;
      }
      bool const does_nothing = i.code == opcode::all_reduce && !run_detail::meets_others(i);
      for (operand const& o : p.operands_of(i)) {
        auto const slot = static_cast<std::size_t>(o.slot);
        use& u = uses.emplace_back(use{.slot = slot, .before = before[slot]});
        u.changes = o.how != ashlar::access::read && !does_nothing;
        before[slot] += u.changes;
        if (keeps_[slot] || sums_[slot]) continue;
        u.makes = o.how == ashlar::access::write || o.how == ashlar::access::scratch;
        if (u.makes) {
          value[slot] = users_.size();
          users_.push_back({});
        }
        u.value = value[slot];
        if (u.value != none) ++users_[u.value].all;
      }
    }
  }

  static void spoil(buffer b) { std::fill(b.begin(), b.end(), spoilt); }

  // Called before the first step.
  void own(slot_table const& slots, std::byte* memory, std::byte* host_memory) {
    for (std::size_t s = 0; s < slots.size.size(); ++s) {
      bytes_.emplace_back((away_[s] ? host_memory : memory) + slots.offset[s],
                          static_cast<std::size_t>(slots.size[s]));
      std::fill(bytes_[s].begin(), bytes_[s].end(), keeps_[s] ? std::byte{0} : spoilt);
    }
  }
  void step_begins() {
    for (users& u : users_) u.left = u.all;
    std::fill(changes_.begin(), changes_.end(), 0);
    for (std::size_t s = 0; s < bytes_.size(); ++s)
      if (sums_[s]) spoil(bytes_[s]);
  }

  void begin(int instruction) {
    for (use& u : nth(uses_, instruction)) {
      u.was_right = changes_[u.slot] == u.before;
      if (u.makes) spoil(bytes_[u.slot]);
    }
  }
  // Whether all was there when it began, and has stayed the same since.
  bool is_intact(int instruction) const {
    for (use const& u : nth(uses_, instruction))
      if (!u.was_right || changes_[u.slot] != u.before) return false;
    return true;
  }
  void end(int instruction) {
    for (use const& u : nth(uses_, instruction)) {
      if (u.changes) ++changes_[u.slot];
      if (u.value != none && std::atomic_ref(users_[u.value].left).fetch_sub(1) == 1)
        spoil(bytes_[u.slot]);
    }
  }
  // A clear changes the bytes; it does not know its instruction.
  void change(buffer b) {
    for (std::size_t s = 0; s < bytes_.size(); ++s)
      if (!bytes_[s].empty() && bytes_[s].data() == b.data()) ++changes_[s];
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::byte spoilt{0xff};  // not a number

  struct use {
    std::size_t slot;
    int before;                // how many instructions have changed it then
    bool changes = false;      // changes it, too
    bool makes = false;        // a value,
    std::size_t value = none;  // which is spoilt after its last use
    bool was_right = false;    // the slot, when the instruction began
  };
  struct users {
    int all = 0, left = 0;
  };
  std::vector<buffer> bytes_;
  std::vector<bool> keeps_;             // by slot: what work keeps from step to step
  std::vector<bool> sums_;              // by slot: gradients and scalars
  std::vector<bool> away_;              // by slot: whether it is on the host
  std::vector<int> changes_;            // by slot: how many instructions have changed it
  std::vector<std::vector<use>> uses_;  // by instruction
  std::vector<users> users_;            // of each value
};

}  // namespace adversary
