// schedule -> program: passes, transfers and reductions as streams of instructions over coloured slots.
#pragma once

#include <ashlar/core/pipe.hpp>
#include <ashlar/lower/options.hpp>
#include <ashlar/lower/program_writer.hpp>
#include <ashlar/lower/sharing_writer.hpp>
#include <ashlar/lower/slot_coloring.hpp>
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

// Writes one device's stream after the other. Within a stream instructions stand in the order of their
// times in the schedule, transfers and reductions before the passes that start with them.
class lowering {
 public:
  constexpr lowering(schedule const& s, lower_options const& options)
      : s_(s),
        stages_(static_cast<std::size_t>(s.stage_count())),
        edges_(static_cast<std::size_t>(s.graph.edge_count())),
        passes_(s.stage_count(), s.micro_batch_count(), 0),
        stage_values_(stages_ * s.route.size() * per_stage),
        edge_values_(edges_ * s.route.size() * per_edge),
        pool_(options.slots),
        out_(program_for(s, options)),
        sharing_(s, options, out_) {
    std::size_t passes = 0;
    for (auto const& order : s.order) passes += order.size();
    // At most two transfers a pass and edge, five operands a pass on a chain.
    out_.reserve(passes + 4 * edges_ * s.route.size() + stages_,
                 5 * passes + 4 * edges_ * s.route.size() + stages_);
    for (auto const& order : s.order)
      for (timed_pass const& t : order)
        if (t.what.kind != pass_kind::work) {
          int& present = passes_.at(t.what.micro_batch, t.what.stage, result_of(t.what.kind));
          present = t.what.kind == pass_kind::backward ? fused : 1;
        }
  }

  constexpr program run() {
    std::vector<event> const events = events_in_order(s_);
    std::vector<std::vector<int>> mine(static_cast<std::size_t>(s_.device_count()));
    for (std::size_t i = 0; i < events.size(); ++i) {
      event const& e = events[i];
      if (e.is_reduction()) {
        for (int device : replicas(s_.where, e.what.stage))
          mine[static_cast<std::size_t>(device)].push_back(static_cast<int>(i));
      } else {
        mine[static_cast<std::size_t>(e.source)].push_back(static_cast<int>(i));
        mine[static_cast<std::size_t>(e.target)].push_back(static_cast<int>(i));
      }
    }
    for (std::size_t d = 0; d < mine.size(); ++d) write_stream(static_cast<int>(d), mine[d], events);
    return std::move(out_.made());
  }

 private:
  static constexpr program program_for(schedule const& s, lower_options const& options) {
    program p;
    p.graph = s.graph;
    p.where = s.where;
    p.route = s.route;
    p.lanes = options.lanes;
    p.mode = s.mode;
    p.data_ranks = options.data_ranks;
    p.sharding = options.sharding;
    p.step = options.step;
    return p;
  }

  // Values are numbered by (micro-batch, stage) or (micro-batch, edge), and by what they are.
  enum stage_value { output, checkpoint, stash, weight_stash };
  enum edge_value { received_activation, gradient, received_gradient };
  static constexpr std::size_t per_stage = 4, per_edge = 3;
  static constexpr int fused = 2;  // in passes_: the input gradient is given by a fused backward

  struct value {
    int slot = -1;
    int reads_left = 0;
    tick until = 0;
  };

  constexpr value& of_stage(int micro_batch, int stage, stage_value v) {
    return stage_values_[(static_cast<std::size_t>(micro_batch) * stages_
                          + static_cast<std::size_t>(stage))
                             * per_stage
                         + v];
  }
  constexpr value& of_edge(int micro_batch, int from, int to, edge_value v) {
    return edge_values_[(static_cast<std::size_t>(micro_batch) * edges_
                         + static_cast<std::size_t>(s_.graph.edge(from, to)))
                            * per_edge
                        + v];
  }
  constexpr bool is_local(int micro_batch, int a, int b) const {
    int const route = s_.route[static_cast<std::size_t>(micro_batch)];
    return s_.where.device_of(route, a) == s_.where.device_of(route, b);
  }

  constexpr void write_stream(int device, std::vector<int> const& mine,
                              std::vector<event> const& events) {
    pool_.clear();
    sharing_.begin_device(device, pool_);
    std::size_t next = 0;
    auto const write_events = [&](int position, tick until) {
      for (; next < mine.size(); ++next) {
        event const& e = events[static_cast<std::size_t>(mine[next])];
        if (e.time > until) break;
        sharing_.write_until(position, e.time);
        pool_.advance(e.time);
        if (e.is_reduction())
          sharing_.reduce(e.what.stage);
        else
          write_transfer(e, device);
      }
      sharing_.write_ahead_of(position);
    };
    int position = 0;
    for (timed_pass const& t : s_.order[static_cast<std::size_t>(device)]) {
      write_events(position, t.start);
      pool_.advance(t.start);
      bool const overlaps = t.opens_pair() && !sharing_.is_parted(static_cast<std::size_t>(position));
      write_compute(t, s_.end_of(t), overlaps);
      ++position;
    }
    write_events(position, max_tick);
    sharing_.end_device();
    out_.end_stream(pool_.slots());
  }

  constexpr void read(value& v, tick until) {
    out_.use(v.slot, access::read);
    v.until = until > v.until ? until : v.until;
    if (--v.reads_left == 0) pool_.release(v.slot, v.until);
  }
  // A value without readers is scratch space of its writer, which ends at `end`.
  constexpr void write(value& v, slot_kind kind, int reads, tick end) {
    v = {pool_.acquire(kind), reads, end};
    out_.use(v.slot, reads == 0 ? access::scratch : access::write);
    if (reads == 0) pool_.release(v.slot, end);
  }

  constexpr void write_transfer(event const& e, int device) {
    bool const sends = e.source == device;
    int const peer = sends ? e.target : e.source;
    bool const forward = e.what.kind == pass_kind::forward;
    out_.begin({.code = sends ? opcode::send : opcode::receive,
                .lane = out_.made().transfer_lane(peer),
                .what = e.what,
                .to = e.to,
                .peer = peer});
    int const k = e.what.micro_batch, from = e.what.stage;
    if (sends)
      read(forward ? of_stage(k, from, output) : of_edge(k, e.to, from, gradient),
           e.time + s_.cost.transfer);
    else if (forward)
      write(of_edge(k, from, e.to, received_activation), slot_kind::activation, 1, e.time);
    else
      write(of_edge(k, e.to, from, received_gradient), slot_kind::gradient, 1, e.time);
  }

  constexpr void write_compute(timed_pass const& t, tick end, bool overlaps) {
    pass const what = t.what;
    int const k = what.micro_batch, stage = what.stage;
    out_.begin({.code = opcode::compute, .lane = compute_lane, .what = what, .overlaps_next = overlaps});
    switch (what.kind) {
      case pass_kind::forward: {
        for (int before : s_.graph.predecessors(stage))
          read(is_local(k, before, stage) ? of_stage(k, before, output)
                                          : of_edge(k, before, stage, received_activation),
               end);
        if (int const readers = static_cast<int>(s_.graph.successors(stage).size()); readers > 0)
          write(of_stage(k, stage, output), slot_kind::activation, readers, end);
        bool const again = passes_.at(k, stage, result::recomputed) != 0;
        if (again) write(of_stage(k, stage, checkpoint), slot_kind::checkpoint, 1, end);
        write(of_stage(k, stage, stash), slot_kind::stash, again ? 0 : stash_readers(k, stage), end);
        break;
      }
      case pass_kind::recompute:
        read(of_stage(k, stage, checkpoint), end);
        write(of_stage(k, stage, stash), slot_kind::stash, stash_readers(k, stage), end);
        break;
      case pass_kind::backward:
      case pass_kind::backward_input:
        for (int after : s_.graph.successors(stage))
          read(of_edge(k, stage, after, is_local(k, stage, after) ? gradient : received_gradient), end);
        read(of_stage(k, stage, stash), end);
        for (int before : s_.graph.predecessors(stage))
          write(of_edge(k, before, stage, gradient), slot_kind::gradient, 1, end);
        write(of_stage(k, stage, weight_stash), slot_kind::weight_stash,
              passes_.at(k, stage, result::weight_gradient), end);
        if (what.kind == pass_kind::backward) sharing_.use_accumulator(stage);
        break;
      case pass_kind::backward_weight:
        read(of_stage(k, stage, stash), end);
        read(of_stage(k, stage, weight_stash), end);
        sharing_.use_accumulator(stage);
        break;
      case pass_kind::work:
        return;
    }
    sharing_.use_weights(stage);
  }

  // A fused backward reads the stash once; input and weight passes once each.
  constexpr int stash_readers(int k, int stage) {
    int const input = passes_.at(k, stage, result::input_gradient);
    return input == fused ? 1 : input + passes_.at(k, stage, result::weight_gradient);
  }

  schedule const& s_;
  std::size_t stages_;
  std::size_t edges_;
  result_table<int> passes_;  // 0: no such pass, 1: one, `fused`
  std::vector<value> stage_values_;
  std::vector<value> edge_values_;
  slot_pool pool_;
  program_writer out_;
  sharing_writer sharing_;
};

// The program of a valid schedule; its starts decide the order of transfers and which values share a
// slot. Throws violation with check(options) or check(s) when one of them is not valid. O(n) in passes
// and transfers for unit costs, O(n log n) for others.
constexpr program lower(schedule const& s, lower_options options = {}) {
  if (diagnosis const d = check(options); !d.ok()) throw violation{d};
  if (diagnosis const d = check(s); !d.ok()) throw violation{d};
  if (options.transfers == transfer_order::asap) return lowering(one_by_one(s), options).run();
  return lowering(s, options).run();
}

constexpr auto lower(lower_options options = {}) {
  return closure([=](schedule const& s) { return lower(s, options); });
}

}  // namespace ashlar
