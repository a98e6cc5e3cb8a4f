// schedule -> program: passes, transfers and reductions as streams of instructions over coloured slots.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/lists.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/pipe.hpp>
#include <ashlar/core/prefetch.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/lower/instants.hpp>
#include <ashlar/lower/options.hpp>
#include <ashlar/lower/receive_times.hpp>
#include <ashlar/lower/sharing_writer.hpp>
#include <ashlar/lower/stream_writer.hpp>
#include <ashlar/lower/transfer_events.hpp>
#include <ashlar/lower/transfer_order.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/check.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

// Writes the stream of one device after the other. Within a stream, instructions stand in the order of
// their times in the schedule; transfers and reductions come before the passes that start at the same
// time.
class lowering {
 public:
  // Takes `ends` as check_passes(s) fills it.
  constexpr lowering(schedule const& s, lower_options const& options, pass_ends const& ends,
                     host_copies const& copies)
      : s_(s),
        ends_(ends),
        copies_(copies),
        out_(program_for(s, options), options.slots),
        sharing_(s, options, out_),
        late_(options.receives == receive_time::when_needed) {
    std::size_t const passes = pass_count(s);
    // There are at most two transfers a pass and edge, five operands a pass on a chain.
    std::size_t const transfers = 4 * static_cast<std::size_t>(s.graph.link_count()) * s.route.size(),
                      others = 2 * static_cast<std::size_t>(s.stage_count());
    out_.reserve(passes + transfers + others, 5 * passes + transfers + others);
    for (auto const& order : s.order)
      for (time_slot const& t : view_of(order))
        for (pass const* what = &t.what; what != nullptr; what = t.after(what)) out_.shape().add(*what);
    for (pass const& forward : options.offload.forwards) out_.shape().add_offload(forward);
  }

  // Writes the program. To be called once.
  constexpr program run() {
    events_ = events_in_order(s_, out_.made().groups, ends_);
    if (late_) receive_times_ = receive_times(s_, out_.made().lanes).of(events_);
    lists<turn> const mine = turns_by_device();
    find_states();
    for (std::size_t d = 0; d < mine.size(); ++d) write_stream(static_cast<int>(d), mine[d]);
    return out_.take();
  }

 private:
  static constexpr program program_for(schedule const& s, lower_options const& options) {
    return {.graph = s.graph,
            .where = s.where,
            .route = s.route,
            .lanes = options.lanes,
            .mode = s.mode,
            .data_ranks = options.data_ranks,
            .sharding = options.sharding,
            .groups = parameter_groups(s.where, options.shared_parameters),
            .step = options.step,
            .offloads = !options.offload.forwards.empty(),
            .work = s.work};
  }

  // An event in which a device takes part; `part` is the device's part of collective work.
  struct turn {
    int event;
    int part = 0;
  };

  // The turns of each device, in the order of their times, and those of one time in that of the events.
  constexpr lists<turn> turns_by_device() const {
    if (receive_times_.empty()) return turns_of_events();
    dynamic_array<keyed_index> by_time;  // an even index is of the receive
    for (std::size_t i = 0; i < events_.size(); ++i) {
      by_time.push_back({events_[i].time, 2 * i + 1});
      if (!events_[i].is_reduction()) by_time.push_back({receive_times_[i], 2 * i});
    }
    sort_by_key(by_time);
    return {static_cast<std::size_t>(s_.device_count()), [&](auto add) {
              for (keyed_index const& k : by_time) {
                std::size_t const i = k.index / 2;
                event const& e = events_[i];
                turn const own{.event = static_cast<int>(i)};
                if (e.is_reduction())
                  add_members(e, own, add);
                else
                  add(k.index % 2 == 0 ? e.target : e.source, own);
              }
            }};
  }

  template <class Add>
  constexpr void add_members(event const& e, turn own, Add add) const {
    work_view const work = s_.work.view();
    if (int const job = e.group - group_of_job(out_.made(), 0); job >= 0) {
      for (; own.part < work.part_count(job); ++own.part) add(work.part({job, own.part}).device, own);
    } else {
      for (int device : out_.made().groups.holders(e.group)) add(device, own);
    }
  }

  constexpr lists<turn> turns_of_events() const {
    return {static_cast<std::size_t>(s_.device_count()), [&](auto add) {
              for (std::size_t i = 0; i < events_.size(); ++i) {
                event const& e = events_[i];
                turn const own{.event = static_cast<int>(i)};
                if (e.is_reduction()) {
                  add_members(e, own, add);
                } else {
                  add(e.source, own);
                  add(e.target, own);
                }
              }
            }};
  }

  // The jobs whose state is kept on each device.
  constexpr void find_states() {
    work_view const work = s_.work.view();
    states_ = std::vector<std::vector<int>>(static_cast<std::size_t>(s_.device_count()));
    for (int job = 0; job < work.job_count(); ++job)
      for (int k = 0; k < work.part_count(job) && work.uses_state(job); ++k) {
        int const device = work.part({job, k}).device, owner = work.state_of(job);
        std::vector<int>& found = nth(states_, device);
        bool known = false;
        for (int other : found) known = known || other == owner;
        if (!known) found.push_back(owner);
      }
  }

  constexpr void write_stream(int device, list_view<turn> mine) {
    out_.begin_stream(device);
    sharing_.begin_device(device);
    for (int job : nth(states_, device))
      out_.put(slot_kind::work_state, job, out_.acquire(slot_kind::work_state));
    dynamic_array<host_copy> const copies = copies_.of(device);
    bool prefetches = can_prefetch();  // a const one would be evaluated by the compiler, and false
    turn const* next = mine.first;
    std::size_t next_copy = 0;
    auto const write_copies = [&](tick until) {
      for (; next_copy < copies.size() && copies[next_copy].start <= until; ++next_copy) {
        host_copy const& c = copies[next_copy];
        out_.advance(c.start);
        out_.write({.code = c.code, .what = c.what}, c.end);
      }
    };
    // Pointers: calls of operators take more steps of constant evaluation.
    event const* const events = events_.data();
    auto const write_events = [&](int position, tick until) {
      for (; next != mine.last; ++next) {
        if (prefetches && mine.last - next > ahead) prefetch(events + next[ahead].event);
        event const& e = events[next->event];
        tick const received = late_ ? nth(receive_times_, next->event) : e.time;
        tick const time = e.target == device ? received : e.time;
        if (time > until) break;
        if (!copies.empty()) write_copies(time);
        sharing_.write_until(position, time);
        out_.advance(time);
        if (!e.is_reduction())
          write_transfer(e, device, received);
        else if (int const job = e.group - group_of_job(out_.made(), 0); job >= 0)
          write_collective({job, next->part}, e.time);
        else
          sharing_.reduce(e.group);
      }
      if (!copies.empty()) write_copies(until);
      sharing_.write_ahead_of(position);
    };
    int position = 0;  // of a pass
    for (time_slot const& t : view_of(nth(s_.order, device)))
      for (pass const *what = &t.what, *other = nullptr; what != nullptr; what = other) {
        other = t.after(what);
        write_events(position, t.start);
        out_.advance(t.start);
        bool const overlaps = other != nullptr && !sharing_.is_split(static_cast<std::size_t>(position));
        out_.write({.code = opcode::compute, .overlaps_next = overlaps, .what = *what}, ends_.of(*what));
        ++position;
      }
    write_events(position, max_tick);
    sharing_.end_device();
    for (int job : nth(states_, device))
      if (s_.work.view().clears_state(job))
        out_.write({.code = opcode::clear,
                    .subject = slot_kind::work_state,
                    .what = part_id{job, 0},
                    .group = group_of_job(out_.made(), job)});
    out_.end_stream();
  }

  constexpr void write_collective(part_id part, tick time) {
    out_.write({.code = opcode::all_reduce,
                .subject = slot_kind::work,
                .what = part,
                .group = group_of_job(out_.made(), part.job)},
               time + s_.work.view().duration(part));
  }

  // A send of one moment must not make room for a receive of the same moment.
  constexpr void write_transfer(event const& e, int device, tick at) {
    bool const sends = e.source == device;
    int const peer = sends ? e.target : e.source;
    opcode const code = sends ? opcode::send : opcode::receive;
    out_.write({.code = code, .what = e.what, .to = e.to, .peer = peer},
               sends ? at + s_.cost.transfer(device, peer) + (late_ ? 1 : 0) : at);
  }

  // How many turns ahead an event is prefetched: the events of one device lie far apart among those of
  // all.
  static constexpr std::ptrdiff_t ahead = 8;

  schedule const& s_;
  pass_ends const& ends_;
  host_copies const& copies_;
  stream_writer out_;
  sharing_writer sharing_;
  bool late_;                             // receives, when they are needed
  dynamic_array<tick> receive_times_;     // by event, if receives are late
  dynamic_array<event> events_;           // of all devices
  std::vector<std::vector<int>> states_;  // by device
};

// The program of a valid schedule; its starts decide the order of transfers and which values share a
// slot. Throws violation with check(options), check(s), check(options.offload, s) or
// check(options.weights, s) when one of them is not valid. O(n) in passes and transfers for unit costs,
// O(n log n) for others. (By reference: nvcc's front end does not destroy the options otherwise.)
constexpr program lower(schedule const& s, lower_options const& options = {}) {
  if (diagnosis const d = check(options); !d.ok()) refuse(d);
  pass_ends ends = no_ends(s);
  if (diagnosis const d = check(s, ends); !d.ok()) refuse(d);
  if (!s.work.empty())
    if (diagnosis const d = check_taken_gradients(s.work.view(), options.sharding,
                                                  parameter_groups(s.where, options.shared_parameters));
        !d.ok())
      refuse(d);
  if (!options.offload.forwards.empty()) must_stay(s.where);
  if (diagnosis const d = check(options.offload, s); !d.ok()) refuse(d);
  if (diagnosis const d = check(options.weights, s); !d.ok()) refuse(d);
  host_copies copies(s, ends, options.offload);
  bool const by_finish_time = options.transfers == transfer_order::finish_time;
  if (by_finish_time && !s.cost.passes.has_instants()) return lowering(s, options, ends, copies).run();
  auto const retime_one = by_finish_time ? without_instants : one_by_one;
  schedule const retimed = retime_one(s);
  pass_ends ends_there = no_ends(retimed);
  if (diagnosis const d = check_passes(retimed, ends_there); !d.ok()) refuse(d);
  copies.move_to(s, retimed, ends_there);
  program low = lowering(retimed, options, ends_there, copies).run();
  low.work = s.work;  // in its own ticks
  return low;
}

constexpr auto lower(lower_options options = {}) {
  return closure([=](schedule const& s) { return lower(s, options); });
}

}  // namespace ashlar
