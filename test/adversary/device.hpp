// Devices on which everything happens late, from other threads, in any order that the contract allows.
#pragma once

#include "fabric.hpp"
#include "slots.hpp"
#include <ashlar/host/collectives.hpp>
#include <ashlar/run/drive.hpp>
#include <ashlar/run/host_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace adversary {

// A device of one rank.
class device {
 public:
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct queue {
    device* self = nullptr;
    int lane = 0;
    int last = -1;            // put on it
    int first = -1;           // of what was put on it since a record
    bool is_recorded = true;  // since then
    bool last_sends = false;
    std::vector<int> waits;  // of all that comes
    // The actions of a worker on it, as an instruction or after one.
    void put(int index, std::function<void()> act) {
      self->put(*this, index, {.act = std::move(act)}, [] {});
    }
    void put(std::function<void()> act) { self->put(*this, {.act = std::move(act)}); }
  };
  struct event {
    int of = -1;  // not recorded: nothing to wait for
  };

  device(program_view const& p, int rank, int number, fabric& f)
      : rank_(rank), number_(number), f_(f), slots_(p, number) {
    for (int lane = 0; lane < p.lane_count; ++lane)
      queues_.push_back(queue{.self = this, .lane = lane, .waits = {}});
  }

  // Called before the first step.
  void own(device_plan const& plan, slot_table const& slots, std::byte* memory, std::byte* host_memory,
           bool blocks) {
    events_.resize(static_cast<std::size_t>(plan.events().count()));
    slots_.own(slots, memory, host_memory);
    blocks_ = blocks;
  }
  void step_begins() {
    for (queue& q : queues_) q = queue{.self = this, .lane = q.lane, .waits = {}};
    for (event& e : events_) e = {};
    slots_.step_begins();
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
    bool const forgets = world_().how().what == fault::cleared_once && steps_ > 1;
    put(q, {.act = [this, bytes, forgets] {
          slots_.change(bytes);
          if (!forgets) std::fill(bytes.begin(), bytes.end(), std::byte{0});
        }});
  }
  // A send gives its bytes when it is done, or to its receive.
  void send(queue& q, transfer_call const& t) {
    fabric::pair& p = half_of({rank_, number_, t.peer}, &std::pair<std::size_t, std::size_t>::first);
    auto const give = [this, bytes = t.bytes, index = t.site.index](std::byte* to) {
      uses_all(index, [bytes, to] { std::copy(bytes.begin(), bytes.end(), to); });
    };
    if (world_().how().buffered) {
      put(q,
          {.act =
               [&p, give, size = t.bytes.size()] {
                 p.kept.resize(size);
                 give(p.kept.data());
               }},
          &p.send);
    } else {
      p.give = give;
      put(q, {.may = [this, &p] { return p.receive >= 0 && world_().is_done(p.receive); }, .act = [] {}},
          &p.send);
    }
    q.last_sends = true;
  }
  void receive(queue& q, transfer_call const& t) {
    bool const kept = world_().how().buffered;
    fabric::pair& p = half_of({rank_, t.peer, number_}, &std::pair<std::size_t, std::size_t>::second);
    put(q,
        {.may =
             [this, &p, kept] {
               return p.send >= 0 && (kept ? world_().is_done(p.send) : world_().is_ready(p.send));
             },
         .act =
             [this, &p, kept, bytes = t.bytes, index = t.site.index] {
               uses_all(index, [&] {
                 if (kept)
                   std::copy(p.kept.begin(), p.kept.end(), bytes.begin());
                 else
                   p.give(bytes.data());
               });
             },
         .with = kept ? nullptr : &p.send},
        &p.receive);
  }
  // It copies when it ends.
  void offload(queue& q, copy_call const& c) {
    put(q, c.site.index,
        {.act = [c] { std::copy(c.on_device.begin(), c.on_device.end(), c.on_host.begin()); }}, [] {});
  }
  void reload(queue& q, copy_call const& c) {
    put(q, c.site.index,
        {.act = [c] { std::copy(c.on_host.begin(), c.on_host.end(), c.on_device.begin()); }}, [] {});
  }
  void all_reduce(queue& q, collective_call const& c) {
    meet(q, c, host::collectives::all_reduce, &collective_call::whole, &fabric::member::whole);
  }
  void all_gather(queue& q, collective_call const& c) {
    meet(q, c, host::collectives::all_gather, &collective_call::whole, &fabric::member::whole);
  }
  void reduce_scatter(queue& q, collective_call const& c) {
    meet(q, c, host::collectives::reduce_scatter, &collective_call::shard, &fabric::member::shard);
  }

 private:
  static constexpr int done_when_posted = -2;

  world& world_() const { return f_.all; }

  // Records with the lock held.
  void record_now(queue& q, event& e) {
    bool const early = world_().how().what == fault::send_done_when_posted && q.last_sends;
    if (q.is_recorded) put_locked(q, {.act = [] {}});  // it tells of the waits
    e.of = early ? done_when_posted : q.last;
    q.is_recorded = true;
  }
  void record_late() {
    if (late_.first != nullptr) record_now(*late_.first, *late_.second);
    late_ = {};
  }
  int put_locked(queue& q, world::thing t) {
    t.after = q.waits;
    if (q.last >= 0 && (world_().how().in_order || !q.is_recorded)) t.after.push_back(q.last);
    if (world_().how().in_order) q.waits.clear();
    if (!q.is_recorded) t.part_of = q.first;
    q.last = world_().put(std::move(t));
    if (q.is_recorded) q.first = q.last;
    q.is_recorded = q.last_sends = false;
    return q.last;
  }
  void put(queue& q, world::thing t, int* number = nullptr) {
    int self = -1;
    {
      std::lock_guard const lock(world_().mutex());
      self = put_locked(q, std::move(t));
      if (number != nullptr) *number = self;
      q.last_sends = false;
      if (late_.first != nullptr && late_.first != &q) record_late();
    }
    if (blocks_) world_().await(self);
  }
  // Puts an instruction, which begins when it can.
  void put(queue& q, int index, world::thing t, std::function<void()> begin) {
    t.begin = [this, index, begin = std::move(begin)] {
      slots_.begin(index);
      begin();
    };
    t.act = [this, index, act = std::move(t.act)] { ends(index, act); };
    put(q, std::move(t));
  }
  template <class Act>
  void ends(int index, Act const& act) {
    if (!slots_.is_intact(index)) world_().fail();
    act();
    slots_.end(index);
  }
  template <class Act>
  void uses_all(int index, Act const& act) {
    slots_.begin(index);
    ends(index, act);
  }

  fabric::pair& half_of(fabric::link const& l, std::size_t std::pair<std::size_t, std::size_t>::*which) {
    std::lock_guard const lock(world_().mutex());
    auto& all = f_.pairs[l];
    std::size_t const k = f_.posted[l].*which;
    ++(f_.posted[l].*which);
    if (k == all.size()) all.emplace_back();
    return all[k];
  }

  // Each member gives its bytes when it begins, and gets its result when it ends.
  template <class Act>
  void meet(queue& q, collective_call const& c, Act act, buffer collective_call::*to,
            std::vector<std::byte> fabric::member::*from) {
    fabric::meeting& m = meeting_of(c.group, c.site.rank);
    fabric::member& mine = m.members[static_cast<std::size_t>(c.group.member)];
    put(q, c.site.index,
        {.may = [&m] { return m.begun == m.members.size(); },
         .act = [c, to, from,
                 &mine] { std::copy((mine.*from).begin(), (mine.*from).end(), (c.*to).begin()); }},
        [c, act, to, &m, &mine] {
          mine = {c, {c.whole.begin(), c.whole.end()}, {c.shard.begin(), c.shard.end()}};
          slot_memory::spoil(c.*to);
          if (++m.begun < m.members.size()) return;
          std::vector<collective_call> copies;
          for (fabric::member& one : m.members) {
            copies.push_back(one.call);
            copies.back().whole = one.whole;
            copies.back().shard = one.shard;
          }
          act(copies);
        });
  }
  fabric::meeting& meeting_of(collective_group const& g, int rank) {
    auto const key = std::tuple{static_cast<int>(g.scope), g.of,
                                g.scope == group_scope::holders_of_a_rank ? rank : 0};
    std::lock_guard const lock(world_().mutex());
    std::size_t const k = f_.calls[std::tuple_cat(key, std::tuple{g.member})]++;
    auto& all = f_.meetings[key];
    while (all.size() <= k) all.emplace_back().members.resize(static_cast<std::size_t>(g.size));
    return all[k];
  }

  int rank_, number_;
  fabric& f_;
  bool blocks_ = false;
  std::deque<queue> queues_;
  std::vector<event> events_;
  slot_memory slots_;
  int steps_ = 0;  // begun
  std::pair<queue*, event*> late_;
};
static_assert(collective_backend<device> && offloading_backend<device>);

}  // namespace adversary
