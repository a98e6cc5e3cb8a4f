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
        jobs_(p.work.jobs()),
        passes_(static_cast<std::size_t>(pass_kinds * p.stage_count() * p.micro_batch_count()), 0) {
    for (int s = 0; s < p.stage_count(); ++s) groups_.push_back({s});
    for (std::vector<int> const& shared : p.groups.shared()) groups_.push_back(shared);
    for (int d = 0; d < p.device_count(); ++d)
      for (instruction const& i : p.view().stream(d)) {
        if (i.code == opcode::all_reduce && i.subject != slot_kind::work) reduced_.insert({d, i.group});
        if (is_work(i)) {
          if (home_of(i) != d) misplaced_ = true;
          worked_.insert({i.what.stage, i.what.micro_batch});
        }
        if (i.code == opcode::optimize) stepped_.insert({d, i.group});
        if (i.code == opcode::measure) measured_.insert(d);
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
  static bool is_work(instruction const& i) {
    return i.code == opcode::compute ? i.what.kind == pass_kind::work
                                     : i.code == opcode::all_reduce && i.subject == slot_kind::work;
  }
  // The device of a part, if it is on the queue for such parts.
  int home_of(instruction const& i) const {
    if (i.what.kind != pass_kind::work || i.what.stage < 0
        || i.what.stage >= static_cast<int>(jobs_.size()))
      return -1;
    ashlar::work_job const& job = jobs_[static_cast<std::size_t>(i.what.stage)];
    bool const sums = job.kind == ashlar::job_kind::all_reduce;
    if (sums != (i.code == opcode::all_reduce) || i.what.micro_batch < 0
        || i.what.micro_batch >= static_cast<int>(job.parts.size()))
      return -1;
    if (sums && i.group != groups() + 1 + i.what.stage) return -1;
    return job.parts[static_cast<std::size_t>(i.what.micro_batch)].device;
  }
  bool sums_over_ranks(int job) const { return jobs_[static_cast<std::size_t>(job)].over_ranks; }

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
  // Parameter groups: what each stage has for itself, then what some have in common.
  int groups() const { return static_cast<int>(groups_.size()); }
  // The devices that hold a group, by stage, then by route: the order of summation. All devices for the
  // number after the last.
  std::vector<int> holders(int group) const {
    std::vector<int> found;
    if (group > groups())
      for (ashlar::work_part const& k : jobs_[static_cast<std::size_t>(group - groups() - 1)].parts)
        found.push_back(k.device);
    else if (group == groups())
      for (int d = 0; d < p_.device_count(); ++d) found.push_back(d);
    else
      for (int s : groups_[static_cast<std::size_t>(group)])
        for (int d : devices_of(s))
          if (std::find(found.begin(), found.end(), d) == found.end()) found.push_back(d);
    return found;
  }
  bool holds(int device, int group) const {
    std::vector<int> const all = holders(group);
    return std::find(all.begin(), all.end(), device) != all.end();
  }
  // Only what a stage has for itself lies in shards.
  bool is_sharded(int group) const { return is_sharded() && group < p_.stage_count(); }

  // Each pass and each part of work once on its device, each stage reduced once on each of its devices
  // and stepped once where the program steps. For inference no backward and none of these.
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
    std::multiset<int> measurements;
    for (int d = 0; d < p_.device_count() && p_.mode == execution_mode::training; ++d) {
      if (p_.step == ashlar::optimizer_step::after_norm) {
        measurements.insert(d);
        reductions.insert({d, groups()});
      }
      for (int g = 0; g < groups(); ++g)
        if (holds(d, g)) {
          reductions.insert({d, g});
          if (p_.step != ashlar::optimizer_step::none) steps.insert({d, g});
        }
    }
    std::multiset<std::tuple<int, int>> parts;
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      for (std::size_t k = 0; k < jobs_[job].parts.size(); ++k)
        parts.insert({static_cast<int>(job), static_cast<int>(k)});
    return reductions == reduced_ && steps == stepped_ && measurements == measured_ && parts == worked_;
  }

  // What a stage's micro-batch adds to the gradient of a group, a bit each.
  unsigned contribution(int group, int stage, int micro_batch) const {
    std::vector<int> const& stages = groups_[static_cast<std::size_t>(group)];
    auto const at = std::find(stages.begin(), stages.end(), stage) - stages.begin();
    return 1U << (at * p_.micro_batch_count() + micro_batch);
  }
  // All that a device adds.
  unsigned contributions(int device, int group) const {
    unsigned bits = 0;
    for (int s : groups_[static_cast<std::size_t>(group)])
      for (int k = 0; k < p_.micro_batch_count(); ++k)
        if (device_of(k, s) == device) bits |= contribution(group, s, k);
    return bits;
  }

  // What an instruction of a device takes and gives, in the order of its operands. Nothing if there is
  // no such pass or transfer.
  std::optional<std::vector<argument>> arguments(instruction const& i, int device) const {
    pass const what = i.what;
    int const s = what.stage, k = what.micro_batch;
    if (is_work(i)) return home_of(i) == device ? std::optional{of_work(i)} : std::nullopt;
    if (i.code != opcode::compute && i.code != opcode::send && i.code != opcode::receive)
      return of_shared(i, device);
    if (what.kind == pass_kind::work || !exists(what)) return {};
    if (i.code == opcode::compute) {
      auto list = of_pass(what, device);
      if (is_sharded()) list.push_back({access::read, {slot_kind::weight, s, -1, -1}, used});
      for (argument const& a : read_of_work(what)) list.push_back(a);
      return list;
    }

    bool const forward = what.kind == pass_kind::forward;
    if (!forward && what.kind != pass_kind::backward && what.kind != pass_kind::backward_input)
      return {};
    if (!joined(forward ? s : i.to, forward ? i.to : s)) return {};
    if (forward && first_at(k, s, device_of(k, i.to)) != i.to) return {};
    bool const sends = i.code == opcode::send;
    if (device_of(k, sends ? s : i.to) != device || device_of(k, sends ? i.to : s) != i.peer
        || i.peer == device)
      return {};
    if (!forward)
      return {{{sends ? access::read : access::write, {slot_kind::gradient, s, k, i.to}, 1}}};
    if (sends) return {{{access::read, {slot_kind::activation, s, k, -1}, next_bit(s, i.to)}}};
    return {{{access::write, {slot_kind::activation, s, k, -1}, needed_on(k, s, device)}}};
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

  // The first of the stages on a device that need an activation: it is sent there for all of them.
  int first_at(int micro_batch, int stage, int device) const {
    for (int to : p_.graph.successors(stage))
      if (device_of(micro_batch, to) == device) return to;
    return -1;
  }
  // The stages on a device that need it, a bit each.
  unsigned needed_on(int micro_batch, int stage, int device) const {
    unsigned bits = 0;
    for (int to : p_.graph.successors(stage))
      if (device_of(micro_batch, to) == device) bits |= next_bit(stage, to);
    return bits;
  }
  // On its own device: those that need it there, and of those on another device the first.
  unsigned needed_from(int micro_batch, int stage, int device) const {
    unsigned bits = needed_on(micro_batch, stage, device);
    for (int d = 0; d < p_.device_count(); ++d)
      if (int const to = first_at(micro_batch, stage, d); d != device && to >= 0)
        bits |= next_bit(stage, to);
    return bits;
  }

  // Work that reads what a pass leaves, a bit each from `first` on; and the bit of one of them.
  unsigned work_bits(pass from, int first) const {
    unsigned bits = 0;
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.from == from) bits = bits << 1 | 1U << first;
    return bits;
  }
  unsigned work_bit(pass from, pass to, int first) const {
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.from == from) {
        if (e.to == to) break;
        ++first;
      }
    return 1U << first;
  }
  // In the order of kind, stage (job), micro-batch (part) of what made it.
  std::vector<argument> read_of_work(pass what) const {
    std::vector<pass> from;
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.to == what) from.push_back(e.from);
    std::sort(from.begin(), from.end(), [](pass a, pass b) {
      return std::tuple{a.kind, a.stage, a.micro_batch} < std::tuple{b.kind, b.stage, b.micro_batch};
    });
    std::vector<argument> list;
    for (pass f : from) {
      bool const stash = f.kind == pass_kind::forward || f.kind == pass_kind::recompute;
      bool const work = f.kind == pass_kind::work;
      list.push_back({access::read,
                      {work    ? slot_kind::work
                       : stash ? slot_kind::stash
                               : slot_kind::weight_stash,
                       f.stage, f.micro_batch, -1},
                      work_bit(f, what,
                               work    ? 0
                               : stash ? 2
                                       : 1)});
    }
    return list;
  }
  std::vector<argument> of_work(instruction const& i) const {
    tag const made{slot_kind::work, i.what.stage, i.what.micro_batch, -1};
    unsigned const readers = work_bits(i.what, 0);
    if (i.code == opcode::all_reduce) return {{access::accumulate, made, readers}};
    std::vector<argument> list = read_of_work(i.what);
    if (jobs_[static_cast<std::size_t>(i.what.stage)].keeps_state)
      list.push_back({access::accumulate, {slot_kind::work_state, i.what.stage, -1, -1}, 0});
    if (readers != 0) list.push_back({access::write, made, readers});
    return list;
  }

 public:
  // What a part of a sum finds in its slot.
  tag summed(tag of) const {
    for (ashlar::work_edge const& e : p_.work.edges())
      if (e.to == pass{pass_kind::work, of.stage, of.micro_batch})
        return {slot_kind::work, e.from.stage, e.from.micro_batch, -1};
    return {};
  }

 private:
  tag whole_gradient(int group) const {
    return {is_sharded(group) ? slot_kind::gradient_shard : slot_kind::weight_gradient, group, -1, -1};
  }

  std::optional<std::vector<argument>> of_shared(instruction const& i, int device) const {
    tag const scalar{slot_kind::scalar, 0, -1, -1};
    if (i.group > groups()) return {};
    bool const of_all = i.group == groups();
    if (of_all != (i.subject == slot_kind::scalar)) return {};
    if (i.group < 0 || !holds(device, i.group)) return {};
    // It is labelled with the first stage of its group.
    if (i.what.stage != (of_all ? 0 : groups_[static_cast<std::size_t>(i.group)][0])) return {};
    if (of_all) {
      std::vector<argument> list;
      if (i.code == opcode::all_reduce) list.push_back({access::accumulate, scalar, sum});
      if (i.code != opcode::measure) return list.empty() ? std::nullopt : std::optional{list};
      for (int g = 0; g < groups(); ++g)  // each gradient is measured by its first holder
        if (holders(g)[0] == device) list.push_back({access::read, whole_gradient(g), reduced});
      list.push_back({access::write, scalar, part});
      return list;
    }
    argument const weights{access::write, {slot_kind::weight, i.group, -1, -1}, resident},
        given_up{access::scratch, weights.value, resident | used};
    tag const gradient{slot_kind::weight_gradient, i.group, -1, -1};
    switch (i.code) {
      case opcode::all_reduce:
        if (i.subject != whole_gradient(i.group).kind) return {};
        return {{{access::accumulate, whole_gradient(i.group), 0}}};
      case opcode::clear:
        if (i.subject != slot_kind::weight_gradient
            && (!is_sharded(i.group) || i.subject != slot_kind::gradient_shard))
          return {};
        return {{{access::write, {i.subject, i.group, -1, -1}, cleared}}};
      case opcode::optimize: {
        std::vector<argument> list{{access::read, whole_gradient(i.group), stepped}};
        if (p_.step == ashlar::optimizer_step::after_norm) list.push_back({access::read, scalar, sum});
        return list;
      }
      case opcode::all_gather:
        if (!is_sharded(i.group)) return {};
        return {{weights}};
      case opcode::release:
        if (!is_sharded(i.group)) return {};
        return {{given_up}};
      case opcode::reduce_scatter:
        if (!is_sharded(i.group)) return {};
        return {{{access::read, gradient, 0},
                 {access::accumulate, {slot_kind::gradient_shard, i.group, -1, -1}, 0}}};
      default:
        return {};
    }
  }

  std::vector<argument> of_pass(pass what, int device) const {
    int const s = what.stage, k = what.micro_batch;
    bool const again = runs(pass_kind::recompute, what);
    // Whoever goes backward reads the stash: the input's pass (bit 0) and the weights' (bit 1).
    unsigned const back_readers = p_.mode == execution_mode::inference     ? 0
                                  : runs(pass_kind::backward_weight, what) ? 3
                                                                           : 1;
    unsigned const stash_readers = back_readers | work_bits(what, 2);
    access const keeps = stash_readers == 0 ? access::scratch : access::write;
    tag const stash{slot_kind::stash, s, k, -1}, checkpoint{slot_kind::checkpoint, s, k, -1},
        weight_stash{slot_kind::weight_stash, s, k, -1};
    std::vector<argument> list;
    list.reserve(8);
    auto const accumulate = [&] {
      for (int g = 0; g < groups(); ++g)
        if (std::vector<int> const& all = groups_[static_cast<std::size_t>(g)];
            std::find(all.begin(), all.end(), s) != all.end())
          list.push_back(
              {access::accumulate, {slot_kind::weight_gradient, g, -1, -1}, contribution(g, s, k)});
    };
    switch (what.kind) {
      case pass_kind::forward:
        for (int before : p_.graph.predecessors(s))
          list.push_back({access::read, {slot_kind::activation, before, k, -1}, next_bit(before, s)});
        if (!p_.graph.successors(s).empty())
          list.push_back({access::write, {slot_kind::activation, s, k, -1}, needed_from(k, s, device)});
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
        unsigned const readers = (fused ? 0U : 1U) | work_bits(what, 1);
        list.push_back({readers == 0 ? access::scratch : access::write, weight_stash, readers});
        if (fused) accumulate();
        break;
      }
      case pass_kind::backward_weight:
        list.push_back({access::read, stash, 2});
        list.push_back({access::read, weight_stash, 1});
        accumulate();
        break;
      case pass_kind::work:
        break;
    }
    return list;
  }

  program const& p_;
  std::vector<ashlar::work_job> jobs_;
  std::vector<int> passes_;                                // how often each, by number()
  std::vector<std::vector<int>> groups_;                   // stages
  std::multiset<std::tuple<int, int>> reduced_, stepped_;  // device, group
  std::multiset<int> measured_;                            // devices
  std::multiset<std::tuple<int, int>> worked_;             // job, part
  bool misplaced_ = false;
};

}  // namespace oracle
