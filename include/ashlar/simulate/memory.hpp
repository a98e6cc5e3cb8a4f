// Bytes of each device over time.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/program/operands.hpp>
#include <ashlar/simulate/options.hpp>
#include <ashlar/simulate/timeline.hpp>
#include <ashlar/simulate/transfer_pairs.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// A point of a device's memory over time.
struct memory_sample {
  tick time = 0;
  byte_count bytes = 0;  // from this time until the next sample

  friend constexpr bool operator==(memory_sample const&, memory_sample const&) = default;
};

// The memory of one device during a step, in the unit of the memory model.
struct device_memory {
  byte_count resident = 0;  // weights and optimizer state, or this rank's shards of them, weight
                            // gradients and what work keeps: there all the time
  byte_count reserved = 0;  // resident, and every slot as large as the largest value that it ever holds
  byte_count peak = 0;      // resident, and the values alive at once
  tick peak_time = 0;       // when the peak is reached first
  int witness = -1;  // the instruction that reaches it, by index into the program; -1: none, it is
                     // all resident
  std::vector<memory_sample> samples;  // times ascend; the first is at tick 0
  byte_count host_reserved = 0;  // on the host: shards that lie there, and every slot as large as the
                                 // largest value that it holds
  byte_count host_peak = 0;      // these shards, and the values there at once

  friend constexpr bool operator==(device_memory const&, device_memory const&) = default;
};

// The values of one device over time. A value is alive from the start of its writer to the end of its
// last reader, or to the end of its writer if nothing reads it. A part of a stash may go with the input
// pass.
class memory_walk {
 public:
  // Refers to its arguments.
  constexpr memory_walk(program const& p, timeline const& line, simulation_options const& o)
      : p_(p), view_(p.view()), shape_(view_), line_(line), o_(o) {
    shape_.add_all();
  }

  // The memory of one device. O(n log n) in its operands. Throws violation{rule::sizes_fit}.
  constexpr device_memory run(int device) {
    device_memory m;
    int const parts = p_.sharding == sharding_level::none ? 1
                      : p_.data_ranks > 1                 ? p_.data_ranks
                                                          : o_.data_ranks;
    for (int group = 0; group < p_.groups.count(); ++group) {
      if (p_.groups.member_of(group, device) < 0) continue;
      stage_memory const& b = o_.memory.of_group(group, p_.stage_count());
      bool const in_shards = group < p_.stage_count();
      int const share = in_shards ? parts : 1;
      byte_count& there = in_shards ? home(m) : m.resident;
      there = sum(there, sum(share_of(b.weights, share), share_of(b.optimizer_state, share)));
    }
    collect(device);
    list_view<slot_kind> const kinds = view_.slots_of(device);
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      if (kinds[s] == slot_kind::weight_gradient || kinds[s] == slot_kind::work_state)
        m.resident = sum(m.resident, slots_[s].largest);
      if (kinds[s] == slot_kind::gradient_shard)
        home(m) = sum(home(m), share_of(slots_[s].largest, parts));
    }
    byte_count const shards_on_host = m.host_reserved;
    m.reserved = m.resident;
    for (std::size_t s = 0; s < slots_.size(); ++s)
      if (is_on_host(kinds[s]))
        m.host_reserved = sum(m.host_reserved, slots_[s].largest);
      else if (!is_resident(kinds[s]))
        m.reserved = sum(m.reserved, slots_[s].largest);
    m.peak = m.resident;
    m.samples.push_back({0, m.resident});
    byte_count now = m.resident, away = shards_on_host;
    m.host_peak = away;
    for (change const& c : changes_) {
      if (c.is_on_host) {
        away = sum(away, c.bytes);
        m.host_peak = max_of(m.host_peak, away);
        continue;
      }
      now = sum(now, c.bytes);
      if (m.samples.back().time != c.time) m.samples.push_back({c.time, now});
      m.samples.back().bytes = now;
      if (now <= m.peak) continue;
      m.peak = now;
      m.peak_time = c.time;
      m.witness = c.index;
    }
    return m;
  }

 private:
  // The bytes where this rank's shards lie.
  constexpr byte_count& home(device_memory& m) const {
    bool const on_host = o_.shards == shard_home::host && p_.sharding != sharding_level::none;
    return on_host ? m.host_reserved : m.resident;
  }

  struct value {
    int writer;
    tick end;
    byte_count bytes;
    byte_count largest;  // of all that the slot held
  };
  struct change {
    tick time;
    byte_count bytes;
    int index;
    bool is_on_host = false;
  };

  // b < 0: it leaves.
  static constexpr byte_count sum(byte_count a, byte_count b) {
    byte_count const both = saturating_sum(a, b);
    if (both >= max_tick) refuse({.broken = rule::sizes_fit, .number = b});
    return both;
  }

  static constexpr bool is_resident(slot_kind kind) {
    return kind == slot_kind::weight_gradient || kind == slot_kind::gradient_shard
           || kind == slot_kind::work_state;
  }

  constexpr void free_value(value& v, bool is_away) {
    if (v.bytes > 0) changes_.push_back({v.end, -v.bytes, v.writer, is_away});
    v.bytes = 0;
  }

  constexpr void collect(int device) {
    list_view<slot_kind> const kinds = view_.slots_of(device);
    slots_.assign(kinds.size(), value{});
    changes_.clear();
    int const first = stream_begin(p_, device);
    int const last = stream_end(p_, device);
    for (int i = first; i < last; ++i) {
      instruction const& self = nth(p_.instructions, i);
      timed_instruction const& t = nth(line_.timed, i);
      keys_.clear();
      for_each_operand(shape_, device, self,
                       [&](value_key const& key, access, int) { keys_.push_back(key); });
      list_view<operand> const operands = view_.operands_of(self);
      std::size_t const count = min_of(operands.size(), keys_.size());
      for (std::size_t n = 0; n < count; ++n) {
        operand const& o = operands[n];
        value& v = nth(slots_, o.slot);
        slot_kind const kind = nth(kinds, o.slot);
        byte_count const bytes = o_.size_of(keys_[n], p_.graph);
        if (is_resident(kind)) {
          v.largest = max_of(v.largest, bytes);
          continue;
        }
        if (o.how == access::write || (o.how == access::scratch && self.code != opcode::release)) {
          bool const is_away = is_on_host(kind);
          free_value(v, is_away);
          v.writer = i;
          v.end = t.end;
          v.bytes = bytes;
          v.largest = max_of(v.largest, bytes);
          if (v.bytes > 0) changes_.push_back({t.start, v.bytes, i, is_away});
        } else {
          v.end = max_of(v.end, t.end);
          if (keys_[n].kind != slot_kind::stash || self.what.kind != pass_kind::backward_input) continue;
          byte_count const left =
              min_of(v.bytes, o_.memory.of(self.what.stage, self.what.micro_batch).left_by_input());
          if (left < v.bytes) changes_.push_back({t.end, left - v.bytes, i});
          v.bytes = left;
        }
      }
    }
    for (std::size_t s = 0; s < slots_.size(); ++s) free_value(slots_[s], is_on_host(kinds[s]));
    merge_sort(changes_, [](change const& a, change const& b) {
      if (a.time != b.time) return a.time < b.time;
      if ((a.bytes < 0) != (b.bytes < 0)) return a.bytes < 0;  // values that leave make room first
      return a.index < b.index;
    });
  }

  program const& p_;
  program_view view_;
  program_shape shape_;
  timeline const& line_;
  simulation_options const& o_;
  std::vector<value> slots_;
  std::vector<value_key> keys_;  // of an instruction
  std::vector<change> changes_;
};

namespace simulate_detail {

// Requires that program and times pass their checks.
constexpr std::vector<device_memory> memory_of(program const& p, timeline const& line,
                                               simulation_options const& o) {
  std::vector<device_memory> all;
  memory_walk walk(p, line, o);
  for (int d = 0; d < p.device_count(); ++d) all.push_back(walk.run(d));
  return all;
}

}  // namespace simulate_detail

// The memory of each device. Messages that a buffered transfer keeps under way lie outside the program's
// slots and are not counted. O(n log n) in the operands. Throws violation: check_can_be_timed(p, o),
// check(line, p), rule::sizes_fit.
constexpr std::vector<device_memory> memory_over_time(program const& p, timeline const& line,
                                                      simulation_options const& o) {
  if (diagnosis const d = check_can_be_timed(p, o); !d.ok()) refuse(d);
  if (diagnosis const d = check(line, p); !d.ok()) refuse(d);
  return simulate_detail::memory_of(p, line, o);
}

}  // namespace ashlar
