// Devices on which everything happens late, from other threads, in any order that the contract allows.
#pragma once

#include "fabric.hpp"
#include <ashlar/host/collectives.hpp>
#include <ashlar/run/drive.hpp>
#include <ashlar/run/host_memory.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace adversary {

// A device of one rank. Its slots are spoilt before they are written and when nobody will read them;
// sums, which are read after the step, before each step. Only what work keeps stays.
class device {
 public:
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct queue {
    device* self = nullptr;
    int lane = 0;
    int last = -1;            // put on it
    bool is_recorded = true;  // since then
    bool last_sends = false;
    std::vector<int> waits;  // of all that comes
    // What a worker does on it.
    void put(int index, std::function<void()> act) { self->put(*this, index, std::move(act)); }
  };
  struct event {
    int of = -1;  // not recorded: nothing to wait for
  };

  device(program_view const& p, int rank, int number, fabric& f) : rank_(rank), number_(number), f_(f) {
    for (int lane = 0; lane < p.lane_count; ++lane)
      queues_.push_back(queue{.self = this, .lane = lane, .waits = {}});
    list_view<instruction> const stream = p.stream(number);
    list_view<slot_kind> const kinds = p.slots_of(number);
    before_.resize(stream.size());
    uses_.resize(stream.size());
    for (slot_kind kind : kinds) {
      keeps_.push_back(kind == slot_kind::work_state);
      sums_.push_back(kind == slot_kind::weight_gradient || kind == slot_kind::gradient_shard
                      || kind == slot_kind::scalar);
    }
    std::vector<std::size_t> value(kinds.size(), none);  // by slot
    for (std::size_t i = 0; i < stream.size(); ++i)
      for (operand const& o : p.operands_of(stream[i])) {
        auto const slot = static_cast<std::size_t>(o.slot);
        if (keeps_[slot] || sums_[slot] || stream[i].code == opcode::release) continue;
        if (o.how == access::write || o.how == access::scratch) {
          before_[i].push_back(o.slot);
          value[slot] = users_.size();
          users_.push_back({o.slot, 0, 0});
        }
        if (value[slot] == none) continue;
        uses_[i].push_back(value[slot]);
        ++users_[value[slot]].all;
      }
  }

  // Before the first step.
  void own(device_plan const& plan, slot_table const& slots, std::byte* memory, bool blocks) {
    events_.resize(static_cast<std::size_t>(plan.events().count()));
    for (std::size_t s = 0; s < slots.size.size(); ++s)
      slots_.emplace_back(memory + slots.offset[s], static_cast<std::size_t>(slots.size[s]));
    for (std::size_t s = 0; s < slots_.size(); ++s)  // what work keeps begins with zeros
      if (!slots_[s].empty()) std::memset(slots_[s].data(), keeps_[s] ? 0 : 0xff, slots_[s].size());
    blocks_ = blocks;
  }
  void step_begins() {
    for (queue& q : queues_) q = queue{.self = this, .lane = q.lane, .waits = {}};
    for (event& e : events_) e = {};
    for (users& u : users_) u.left = u.all;
    for (std::size_t s = 0; s < slots_.size(); ++s)
      if (sums_[s]) spoil_slot(static_cast<int>(s));
    late_ = {};
    ++steps_;
  }

  queue& queue_of(int lane) { return queues_[static_cast<std::size_t>(lane)]; }
  event& event_of(int n) { return events_[static_cast<std::size_t>(n)]; }
  void record(queue& q, event& e) {
    std::lock_guard const lock(world_().mutex());
    if (world_().how().what == fault::event_recorded_late) {
      record_late();
      late_ = {&q, &e};
    } else {
      record_now(q, e);
    }
  }
  void wait(queue& q, event& e) {
    int of = -1;
    {
      std::lock_guard const lock(world_().mutex());
      of = e.of;
      if (world_().how().what == fault::wait_dropped && world_().waits++ == world_().how().which) {
        world_().shun(of);
        return;
      }
      if (of >= 0) q.waits.push_back(of);
    }
    while (blocks_ && !query(e)) std::this_thread::yield();  // recorded by another lane's thread
  }
  bool query(event& e) {
    std::lock_guard const lock(world_().mutex());
    return e.of == done_when_posted || (e.of >= 0 && world_().is_done(e.of));
  }

  void clear(queue& q, buffer bytes) {
    if (world_().how().what == fault::cleared_once && steps_ > 1) return;
    put(q, nothing, [bytes] { std::fill(bytes.begin(), bytes.end(), std::byte{0}); });
  }
  void send(queue& q, transfer_call const& t) {
    bool const keeps = world_().how().buffered;
    fabric::pair& p = half_of({rank_, number_, t.peer}, &std::pair<std::size_t, std::size_t>::first);
    p.send.bytes = t.bytes;
    put(
        q, t.site.index,
        [&p, keeps] {
          if (keeps) p.send.kept.assign(p.send.bytes.begin(), p.send.bytes.end());
        },
        [this, &p, keeps] {
          return keeps || (p.receive.thing >= 0 && world_().is_done(p.receive.thing));
        },
        &p.send.thing);
    q.last_sends = true;
  }
  void receive(queue& q, transfer_call const& t) {
    bool const kept = world_().how().buffered;
    fabric::pair& p = half_of({rank_, t.peer, number_}, &std::pair<std::size_t, std::size_t>::second);
    p.receive.bytes = t.bytes;
    put(
        q, t.site.index,
        [&p, kept] {
          std::byte const* const from = kept ? p.send.kept.data() : p.send.bytes.data();
          std::memcpy(p.receive.bytes.data(), from, p.receive.bytes.size());
        },
        [this, &p, kept] {
          return p.send.thing >= 0
                 && (kept ? world_().is_done(p.send.thing) : world_().is_ready(p.send.thing));
        },
        &p.receive.thing, true, kept ? nullptr : &p.send.thing);
  }
  void all_reduce(queue& q, collective_call const& c) { meet(q, c, host::collectives::all_reduce); }
  void all_gather(queue& q, collective_call const& c) { meet(q, c, host::collectives::all_gather); }
  void reduce_scatter(queue& q, collective_call const& c) {
    meet(q, c, host::collectives::reduce_scatter);
  }

 private:
  static constexpr int nothing = -1;
  static constexpr int done_when_posted = -2;
  static constexpr std::size_t none = ~std::size_t{0};

  world& world_() const { return f_.all; }

  // The rest with the lock held.
  void record_now(queue& q, event& e) {
    bool const early = world_().how().what == fault::send_done_when_posted && q.last_sends;
    if (q.is_recorded)
      put_locked(
          q, [](world&) {}, nullptr);  // it tells of the waits
    e.of = early ? done_when_posted : q.last;
    q.is_recorded = true;
  }
  void record_late() {
    if (late_.first != nullptr) record_now(*late_.first, *late_.second);
    late_ = {};
  }
  int put_locked(queue& q, std::function<void(world&)> act, std::function<bool()> may,
                 int const* with = nullptr) {
    world::thing t{q.waits, std::move(may), std::move(act), with};
    if (q.last >= 0 && (world_().how().in_order || !q.is_recorded)) t.after.push_back(q.last);
    if (world_().how().in_order) q.waits.clear();
    q.last = world_().put(std::move(t));
    q.is_recorded = q.last_sends = false;
    return q.last;
  }

  // `spoils`: before it, too.
  void put(queue& q, int index, std::function<void()> act, std::function<bool()> may = nullptr,
           int* number = nullptr, bool spoils = true, int const* with = nullptr) {
    int self = -1;
    {
      std::lock_guard const lock(world_().mutex());
      self = put_locked(
          q,
          [this, index, spoils, act = std::move(act)](world&) {
            if (spoils) spoil(index);
            act();
            if (index == nothing) return;
            for (std::size_t value : uses_[static_cast<std::size_t>(index)])
              if (std::atomic_ref(users_[value].left).fetch_sub(1) == 1) spoil_slot(users_[value].slot);
          },
          std::move(may), with);
      if (number != nullptr) *number = self;
      q.last_sends = false;
      if (late_.first != nullptr && late_.first != &q) record_late();
    }
    if (blocks_) world_().await(self);
  }

  void spoil(int index) const {
    if (index == nothing) return;
    for (int slot : before_[static_cast<std::size_t>(index)]) spoil_slot(slot);
  }
  void spoil_slot(int slot) const {
    buffer const b = slots_[static_cast<std::size_t>(slot)];
    if (!b.empty()) std::memset(b.data(), 0xff, b.size());  // not a number
  }

  fabric::pair& half_of(fabric::link const& l, std::size_t std::pair<std::size_t, std::size_t>::*which) {
    std::lock_guard const lock(world_().mutex());
    auto& all = f_.pairs[l];
    std::size_t const k = f_.posted[l].*which;
    ++(f_.posted[l].*which);
    if (k == all.size()) all.emplace_back();
    return all[k];
  }

  // The first of those that have come who is picked does it for all.
  template <class Act>
  void meet(queue& q, collective_call const& c, Act act) {
    collective_group const& g = c.group;
    auto const key = std::tuple{static_cast<int>(g.scope), g.of,
                                g.scope == group_scope::holders_of_a_rank ? c.site.rank : 0};
    auto const member = static_cast<std::size_t>(g.member);
    fabric::meeting* m = nullptr;
    {
      std::lock_guard const lock(world_().mutex());
      std::size_t const k = f_.calls[std::tuple_cat(key, std::tuple{g.member})]++;
      auto& all = f_.meetings[key];
      while (all.size() <= k) all.emplace_back();
      m = &all[k];
      auto const size = static_cast<std::size_t>(g.size);
      m->calls.resize(size);
      m->things.resize(size, -1);
      m->poison.resize(size);
      m->calls[member] = c;
      m->poison[member] = [this, index = c.site.index] { spoil(index); };
    }
    put(
        q, c.site.index,
        [this, m, act] {
          std::lock_guard const lock(world_().mutex());
          if (std::exchange(m->over, true)) return;
          for (auto const& p : m->poison) p();
          act(m->calls);
        },
        [this, m] {
          for (int n : m->things)
            if (n < 0 || !world_().is_ready(n)) return false;
          return true;
        },
        &m->things[member], false);
  }

  int rank_, number_;
  fabric& f_;
  bool blocks_ = false;
  std::deque<queue> queues_;
  std::vector<event> events_;
  std::vector<buffer> slots_;
  int steps_ = 0;                               // begun
  std::vector<bool> keeps_;                     // by slot: what work keeps from step to step
  std::vector<bool> sums_;                      // by slot: gradients and scalars
  std::vector<std::vector<int>> before_;        // by instruction: slots that it writes
  std::vector<std::vector<std::size_t>> uses_;  // by instruction: values that it writes or reads
  struct users {
    int slot, all, left;
  };
  std::vector<users> users_;  // of each value
  std::pair<queue*, event*> late_;
};
static_assert(collective_backend<device>);

}  // namespace adversary
