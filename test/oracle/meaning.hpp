// What the instructions of a program mean: which values each has to find and leaves behind. From the
// stage graph, the routes and the list of passes alone.
#pragma once

#include "oracle/state.hpp"
#include <ashlar/program/program.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace oracle {

// What an instruction does with one operand. `bits`: of a write, one bit for each read that is to come;
// of a read, the bit that it takes away; of an accumulation, the bit of the micro-batch.
struct argument {
  access how = access::read;
  tag value;
  unsigned bits = 0;
};

// The passes of a program on the devices of their routes; whether each is there once is part of it.
class meaning {
 public:
  explicit meaning(program const& p)
      : p_(p),
        passes_(static_cast<std::size_t>(pass_kinds * p.stage_count() * p.micro_batch_count()), 0) {
    for (int d = 0; d < p.device_count(); ++d)
      for (instruction const& i : p.view().stream(d)) {
        if (i.code == opcode::all_reduce) reduced_.insert({d, i.what.stage});
        if (i.code == opcode::optimize) stepped_.insert({d, i.what.stage});
        if (i.code == opcode::statistics) measured_.insert(d);
        if (i.code != opcode::compute || i.what.kind == pass_kind::work) continue;
        if (!exists(i.what) || device_of(i.what.micro_batch, i.what.stage) != d) {
          misplaced_ = true;
          continue;
        }
        ++passes_[number(i.what.kind, i.what.stage, i.what.micro_batch)];
      }
  }

  bool exists(pass what) const {
    return what.stage >= 0 && what.stage < p_.stage_count() && what.micro_batch >= 0
           && what.micro_batch < p_.micro_batch_count();
  }
  int device_of(int micro_batch, int stage) const {
    return p_.where.device_of(p_.route[static_cast<std::size_t>(micro_batch)], stage);
  }
  // In the order of the routes, which is the order of summation.
  std::vector<int> devices_of(int stage) const {
    std::vector<int> found;
    for (int r = 0; r < p_.where.route_count(); ++r)
      if (int const d = p_.where.device_of(r, stage);
          std::find(found.begin(), found.end(), d) == found.end())
        found.push_back(d);
    return found;
  }

  bool is_sharded() const { return p_.sharding != ashlar::sharding_level::none; }
  // The stages of a device.
  std::vector<int> stages_on(int device) const {
    std::vector<int> found;
    for (int s = 0; s < p_.stage_count(); ++s)
      if (replica(s, device) >= 0) found.push_back(s);
    return found;
  }

  // Each pass once on its device, each stage reduced once on each of its devices and stepped once where
  // the program steps. For inference no backward and none of these.
  bool is_whole() const {
    if (misplaced_) return false;
    for (int k = 0; k < p_.micro_batch_count(); ++k)
      for (int s = 0; s < p_.stage_count(); ++s) {
        auto const times = [&](pass_kind kind) { return passes_[number(kind, s, k)]; };
        bool const fused = times(pass_kind::backward) == 1 && times(pass_kind::backward_input) == 0
                           && times(pass_kind::backward_weight) == 0;
        bool const split = times(pass_kind::backward) == 0 && times(pass_kind::backward_input) == 1
                           && times(pass_kind::backward_weight) == 1;
        bool const none = times(pass_kind::backward) + times(pass_kind::backward_input)
                              + times(pass_kind::backward_weight)
                          == 0;
        if (times(pass_kind::forward) != 1 || times(pass_kind::recompute) > 1
            || !(p_.mode == execution_mode::training ? fused || split : none))
          return false;
      }
    std::multiset<std::tuple<int, int>> reductions, steps;
    std::multiset<int> statistics;
    for (int d = 0; d < p_.device_count() && p_.mode == execution_mode::training; ++d) {
      if (p_.step == ashlar::optimizer_step::after_statistics) statistics.insert(d);
      for (int s : stages_on(d)) {
        reductions.insert({d, s});
        if (p_.step != ashlar::optimizer_step::none) steps.insert({d, s});
      }
    }
    return reductions == reduced_ && steps == stepped_ && statistics == measured_;
  }

  // The micro-batches that a device adds to a stage's weight gradient, a bit each.
  unsigned contributions(int device, int stage) const {
    unsigned bits = 0;
    for (int k = 0; k < p_.micro_batch_count(); ++k)
      if (device_of(k, stage) == device) bits |= 1U << k;
    return bits;
  }

  // What an instruction of a device takes and gives, in the order of its operands. Nothing if there is
  // no such pass or transfer.
  std::optional<std::vector<argument>> arguments(instruction const& i, int device) const {
    pass const what = i.what;
    int const s = what.stage, k = what.micro_batch;
    if (i.code == opcode::statistics)
      return std::vector<argument>(stages_on(device).size(),
                                   {access::read, {whole_gradient(), -1, -1, -1}, 0});
    if (i.code != opcode::compute && i.code != opcode::send && i.code != opcode::receive) {
      if (s < 0 || s >= p_.stage_count() || i.peer < 0 || replica(s, device) != i.peer) return {};
      return of_collective(i.code, s);
    }
    if (what.kind == pass_kind::work)
      return i.code == opcode::compute ? std::optional{std::vector<argument>{}} : std::nullopt;
    if (!exists(what)) return {};
    if (i.code == opcode::compute) {
      auto list = of_pass(what, device);
      if (is_sharded()) list.push_back({access::read, {slot_kind::weight, s, -1, -1}, used});
      return list;
    }

    bool const forward = what.kind == pass_kind::forward;
    if (!forward && what.kind != pass_kind::backward && what.kind != pass_kind::backward_input)
      return {};
    if (!joined(forward ? s : i.to, forward ? i.to : s)) return {};
    bool const sends = i.code == opcode::send;
    if (device_of(k, sends ? s : i.to) != device || device_of(k, sends ? i.to : s) != i.peer
        || i.peer == device)
      return {};
    if (!forward)
      return {{{sends ? access::read : access::write, {slot_kind::gradient, s, k, i.to}, 1}}};
    if (sends) return {{{access::read, {slot_kind::activation, s, k, -1}, next_bit(s, i.to)}}};
    return {{{access::write, {slot_kind::activation, s, k, i.to}, 1}}};
  }

 private:
  bool joined(int from, int to) const {
    if (from < 0 || to < 0 || from >= p_.stage_count() || to >= p_.stage_count()) return false;
    auto const next = p_.graph.successors(from);
    return std::find(next.begin(), next.end(), to) != next.end();
  }
  unsigned next_bit(int from, int to) const {
    auto const next = p_.graph.successors(from);
    return 1U << (std::find(next.begin(), next.end(), to) - next.begin());
  }
  std::size_t number(pass_kind kind, int stage, int micro_batch) const {
    int const row = static_cast<int>(kind) * p_.stage_count() + stage;
    return static_cast<std::size_t>(row * p_.micro_batch_count() + micro_batch);
  }
  bool runs(pass_kind kind, pass what) const {
    return passes_[number(kind, what.stage, what.micro_batch)] > 0;
  }

  // A device's number among the devices of a stage, -1 if it is none of them.
  int replica(int stage, int device) const {
    std::vector<int> const all = devices_of(stage);
    auto const found = std::find(all.begin(), all.end(), device);
    return found == all.end() ? -1 : static_cast<int>(found - all.begin());
  }
  // Where a stage's gradient is when it is complete.
  slot_kind whole_gradient() const {
    return is_sharded() ? slot_kind::gradient_shard : slot_kind::weight_gradient;
  }

  std::optional<std::vector<argument>> of_collective(opcode code, int stage) const {
    argument const weights{access::write, {slot_kind::weight, stage, -1, -1}, resident},
        given_up{access::scratch, weights.value, resident | used},
        part{access::accumulate, {slot_kind::weight_gradient, stage, -1, -1}, 0},
        shard{access::accumulate, {slot_kind::gradient_shard, stage, -1, -1}, 0};
    if (code == opcode::all_reduce || code == opcode::optimize)
      return std::vector<argument>{is_sharded() ? shard : part};
    if (!is_sharded()) return {};
    if (code == opcode::all_gather) return std::vector<argument>{weights};
    if (code == opcode::release) return std::vector<argument>{given_up};
    return std::vector<argument>{part, shard};
  }

  std::vector<argument> of_pass(pass what, int device) const {
    int const s = what.stage, k = what.micro_batch;
    bool const again = runs(pass_kind::recompute, what);
    // Whoever goes backward reads the stash: the input's pass (bit 0) and the weights' (bit 1).
    unsigned const stash_readers = p_.mode == execution_mode::inference     ? 0
                                   : runs(pass_kind::backward_weight, what) ? 3
                                                                            : 1;
    access const keeps = stash_readers == 0 ? access::scratch : access::write;
    tag const stash{slot_kind::stash, s, k, -1}, checkpoint{slot_kind::checkpoint, s, k, -1},
        weight_stash{slot_kind::weight_stash, s, k, -1}, weights{slot_kind::weight_gradient, s, -1, -1};
    std::vector<argument> list;
    list.reserve(8);
    switch (what.kind) {
      case pass_kind::forward:
        for (int before : p_.graph.predecessors(s)) {
          bool const here = device_of(k, before) == device;
          list.push_back({access::read,
                          {slot_kind::activation, before, k, here ? -1 : s},
                          here ? next_bit(before, s) : 1});
        }
        if (auto const next = p_.graph.successors(s).size(); next > 0)
          list.push_back({access::write, {slot_kind::activation, s, k, -1}, (1U << next) - 1});
        if (again) list.push_back({access::write, checkpoint, 1});
        list.push_back({again ? access::scratch : keeps, stash, again ? 0 : stash_readers});
        break;
      case pass_kind::recompute:
        list.push_back({access::read, checkpoint, 1});
        list.push_back({keeps, stash, stash_readers});
        break;
      case pass_kind::backward:
      case pass_kind::backward_input: {
        bool const fused = what.kind == pass_kind::backward;
        for (int after : p_.graph.successors(s))
          list.push_back({access::read, {slot_kind::gradient, after, k, s}, 1});
        list.push_back({access::read, stash, 1});
        for (int before : p_.graph.predecessors(s))
          list.push_back({access::write, {slot_kind::gradient, s, k, before}, 1});
        list.push_back({fused ? access::scratch : access::write, weight_stash, fused ? 0U : 1U});
        if (fused) list.push_back({access::accumulate, weights, 1U << k});
        break;
      }
      case pass_kind::backward_weight:
        list.push_back({access::read, stash, 2});
        list.push_back({access::read, weight_stash, 1});
        list.push_back({access::accumulate, weights, 1U << k});
        break;
      case pass_kind::work:
        break;
    }
    return list;
  }

  program const& p_;
  std::vector<int> passes_;                                // how often each, by number()
  std::multiset<std::tuple<int, int>> reduced_, stepped_;  // device, stage
  std::multiset<int> measured_;                            // devices that take statistics
  bool misplaced_ = false;
};

}  // namespace oracle
