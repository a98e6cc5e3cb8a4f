// The contents of a program: its passes, parameter groups and work, each on its devices, and whether
// each is there once. It is made from the stage graph, the routes and the list of instructions alone.
#pragma once

#include "oracle/state.hpp"
#include <ashlar/model/work_lists.hpp>
#include <ashlar/program/program.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace oracle {

class inventory {
 public:
  explicit inventory(program const& p)
      : p_(p),
        jobs_(ashlar::jobs_of(p.work)),
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
        if (clears_state(i)) state_clears_.insert({d, i.what.stage});
        if (i.code == opcode::optimize) stepped_.insert({d, i.group});
        if (i.code == opcode::measure) measured_.insert(d);
        if (i.code == opcode::offload && i.what.kind == pass_kind::forward)
          left_.insert({i.what.stage, i.what.micro_batch});
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
           && what.micro_batch < p_.micro_batch_count()
           && what.micro_batch % p_.graph.size_of(what.stage) == 0;
  }
  int device_of(int micro_batch, int stage) const {
    return p_.where.device_of(p_.route[static_cast<std::size_t>(micro_batch)], stage);
  }
  static bool is_work(instruction const& i) {
    return i.code == opcode::compute ? i.what.kind == pass_kind::work
                                     : i.code == opcode::all_reduce && i.subject == slot_kind::work;
  }
  static bool copies(instruction const& i) {
    return i.code == opcode::offload || i.code == opcode::reload;
  }
  // Whether what a forward keeps goes to the host.
  bool leaves(pass what) const { return left_.contains({what.stage, what.micro_batch}); }
  // The device of a part, if it is on the queue for such parts.
  int home_of(instruction const& i) const {
    if (i.what.kind != pass_kind::work || i.what.stage < 0
        || i.what.stage >= static_cast<int>(jobs_.size()))
      return -1;
    ashlar::work_job const& job = jobs_[static_cast<std::size_t>(i.what.stage)];
    bool const sums = job.does.is<ashlar::all_reduce_job>();
    if (sums != (i.code == opcode::all_reduce) || i.what.micro_batch < 0
        || i.what.micro_batch >= static_cast<int>(job.parts.size()))
      return -1;
    if (sums && i.group != groups() + 1 + i.what.stage) return -1;
    return job.parts[static_cast<std::size_t>(i.what.micro_batch)].device;
  }
  static bool clears_state(instruction const& i) {
    return i.code == opcode::clear && i.subject == slot_kind::work_state;
  }
  // The job whose state the parts of a job add to; -1: none.
  int state_of(int job) const {
    ashlar::job_state const& state = computed_by(job).state;
    if (auto const* const shared = state.get_if<ashlar::shared_state>()) return shared->of;
    return state.is<ashlar::own_state>() ? job : -1;
  }
  bool clears_state_of(int job) const {
    auto const* const own = computed_by(job).state.get_if<ashlar::own_state>();
    return own != nullptr && own->is_cleared;
  }
  ashlar::job_gradient const& gradient_of(int job) const { return computed_by(job).gradient; }
  // The devices that have the state of a job.
  std::set<int> state_devices(int owner) const {
    std::set<int> found;
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      if (state_of(static_cast<int>(job)) == owner)
        for (ashlar::work_part const& k : jobs_[job].parts) found.insert(k.device);
    return found;
  }
  bool sums_over_ranks(int job) const {
    auto const* const reduces =
        jobs_[static_cast<std::size_t>(job)].does.get_if<ashlar::all_reduce_job>();
    return reduces != nullptr && reduces->over_ranks;
  }

  // Devices are in the order of the routes, which is the order of summation.
  std::vector<int> devices_of(int stage) const {
    std::vector<int> found;
    for (int r = 0; r < p_.where.route_count(); ++r)
      if (int const d = p_.where.device_of(r, stage);
          std::find(found.begin(), found.end(), d) == found.end())
        found.push_back(d);
    return found;
  }

  bool is_sharded() const { return p_.sharding != ashlar::sharding_level::none; }
  // Parameter groups: one for each stage, then those that some stages have in common.
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
  // Only a stage's own group lies in shards.
  bool is_sharded(int group) const { return is_sharded() && group < p_.stage_count(); }

  // Whether each pass and each part of work is there once on its device, each stage is reduced once on
  // each of its devices and stepped once where the program steps, and each state that does not outlive
  // the step is cleared once. For inference there is no backward, reduction or step.
  bool is_whole() const {
    if (misplaced_) return false;
    for (int k = 0; k < p_.micro_batch_count(); ++k)
      for (int s = 0; s < p_.stage_count(); ++s) {
        if (k % p_.graph.size_of(s) != 0) continue;
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
    std::multiset<std::tuple<int, int>> parts, state_clears;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      int const number = static_cast<int>(job);
      for (std::size_t k = 0; k < jobs_[job].parts.size(); ++k)
        parts.insert({number, static_cast<int>(k)});
      if (!clears_state_of(number)) continue;
      for (int const d : state_devices(number)) state_clears.insert({d, number});
    }
    return reductions == reduced_ && steps == stepped_ && measurements == measured_ && parts == worked_
           && state_clears == state_clears_;
  }

  // A stage's micro-batches in the gradient of a group, a bit each.
  unsigned contribution(int group, int stage, int micro_batch) const {
    std::vector<int> const& stages = groups_[static_cast<std::size_t>(group)];
    auto const at = std::find(stages.begin(), stages.end(), stage) - stages.begin();
    return 1U << (at * p_.micro_batch_count() + micro_batch);
  }
  // All contributions of a device.
  unsigned contributions(int device, int group) const {
    unsigned bits = 0;
    for (int s : groups_[static_cast<std::size_t>(group)])
      for (int k = 0; k < p_.micro_batch_count(); ++k)
        if (k % p_.graph.size_of(s) == 0 && device_of(k, s) == device) bits |= contribution(group, s, k);
    return bits;
  }

 protected:
  bool joined(int from, int to) const {
    if (from < 0 || to < 0 || from >= p_.stage_count() || to >= p_.stage_count()) return false;
    auto const next = p_.graph.successors(from);
    return std::find(next.begin(), next.end(), to) != next.end();
  }
  // The stages whose passes read what the forward of a stage makes; for a shard, all shards of its
  // layer, for their backwards.
  std::vector<int> readers(int stage) const {
    auto const next = is_shard(stage) ? p_.graph.shards_with(stage) : p_.graph.successors(stage);
    return {next.begin(), next.end()};
  }
  bool is_shard(int stage) const { return !p_.graph.shards_with(stage).empty(); }
  // Whether the gradient of a stage's input is there after its forward already.
  bool is_early(int stage) const {
    return is_shard(stage) && p_.graph.gradients() == ashlar::shard_gradient::of_forward;
  }
  // The micro-batches of another stage that have units in common with one of a stage.
  std::vector<int> meeting(int stage, int k, int other) const {
    std::vector<int> found;
    int const end = k + p_.graph.size_of(stage), size = p_.graph.size_of(other);
    for (int j = 0; j < p_.micro_batch_count(); j += size)
      if (j < end && j + size > k) found.push_back(j);
    return found;
  }
  // A bit for the pass of micro-batch j of stage `to` among all that read what `from` made: four for
  // each stage, as the largest micro-batches here are of four units.
  unsigned next_bit(int from, int k, int to, int j) const {
    auto const next = readers(from);
    auto const all = meeting(from, k, to);
    return 1U << (4 * (std::find(next.begin(), next.end(), to) - next.begin())
                  + (std::find(all.begin(), all.end(), j) - all.begin()));
  }
  unsigned next_bits(int from, int k, int to) const {
    unsigned bits = 0;
    for (int j : meeting(from, k, to)) bits |= next_bit(from, k, to, j);
    return bits;
  }
  // The bit of a message where it was made.
  unsigned sent_bit(int from, int k, int to) const {
    return next_bit(from, k, to, meeting(from, k, to)[0]);
  }
  // The bit of a gradient, which is for one stage.
  unsigned gradient_bit(int stage, int k, int before, int j) const {
    auto const all = meeting(stage, k, before);
    return 1U << (std::find(all.begin(), all.end(), j) - all.begin());
  }
  unsigned gradient_bits(int stage, int k, int before) const {
    return (1U << meeting(stage, k, before).size()) - 1;
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
    for (int to : readers(stage))
      if (device_of(micro_batch, to) == device) return to;
    return -1;
  }
  // The stages on a device that need it, a bit each.
  unsigned needed_on(int micro_batch, int stage, int device) const {
    unsigned bits = 0;
    for (int to : readers(stage))
      if (device_of(micro_batch, to) == device) bits |= next_bits(stage, micro_batch, to);
    return bits;
  }
  // On its own device the stages that need it there; of those on another device the first.
  unsigned needed_from(int micro_batch, int stage, int device) const {
    unsigned bits = needed_on(micro_batch, stage, device);
    for (int d = 0; d < p_.device_count(); ++d)
      if (int const to = first_at(micro_batch, stage, d); d != device && to >= 0)
        bits |= sent_bit(stage, micro_batch, to);
    return bits;
  }

  program const& p_;
  // The computation of a job; nothing if it sums.
  ashlar::compute_job const& computed_by(int job) const {
    static ashlar::compute_job const nothing;
    auto const* const own = jobs_[static_cast<std::size_t>(job)].does.get_if<ashlar::compute_job>();
    return own == nullptr ? nothing : *own;
  }

  std::vector<ashlar::work_job> jobs_;
  std::vector<std::vector<int>> groups_;  // stages

 private:
  std::vector<int> passes_;                                // how often each, by number()
  std::multiset<std::tuple<int, int>> reduced_, stepped_;  // device, group
  std::set<std::pair<int, int>> left_;          // stage and micro-batch of what is copied to the host
  std::multiset<int> measured_;                 // devices
  std::multiset<std::tuple<int, int>> worked_;  // job, part
  std::multiset<std::tuple<int, int>> state_clears_;  // device, job
  bool misplaced_ = false;
};

}  // namespace oracle
