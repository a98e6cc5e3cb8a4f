// Counts the buffers of each kind that a timed schedule needs, from the lives of its values and without
// the library's lowering.
//
// At one tick passes end, then transfers start in their order (gradients before activations, each by
// micro-batch and stage), then passes start. Times are counted in steps finer than ticks, so that a
// transfer that takes no time has its place, too.
#pragma once

#include <ashlar/model/work_lists.hpp>
#include <ashlar/program/instruction.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

class live_values {
 public:
  explicit live_values(ashlar::schedule const& s) : s_(s), alive_(s.order.size()) {
    for (int d = 0; d < s.device_count(); ++d)
      for (ashlar::timed_pass const t : ashlar::each_pass(s.order[static_cast<std::size_t>(d)]))
        when_[{t.what.micro_batch, t.what.stage, t.what.kind}] = {(t.start + 1) * steps() - 1,
                                                                  s.end_of(t, d) * steps()};
    for (int k = 0; k < s.micro_batch_count(); ++k)
      for (int stage = 0; stage < s.stage_count(); ++stage)
        if (k % s.graph.size_of(stage) == 0) add(k, stage);
    add_work();
  }

  // The largest number of values of a kind that a device holds at one time.
  int most(int device, ashlar::slot_kind kind) const {
    if (kind == ashlar::slot_kind::weight_gradient)
      return s_.mode == ashlar::execution_mode::training ? stages_on(device) : 0;
    if (kind == ashlar::slot_kind::work_state) return states_on(device);
    int most = 0;
    auto const& all = alive_[static_cast<std::size_t>(device)][static_cast<std::size_t>(kind)];
    for (life const& at : all) {
      auto const holds = [&](life const& l) { return l.begin <= at.begin && at.begin < l.end; };
      most = std::max(most, static_cast<int>(std::count_if(all.begin(), all.end(), holds)));
    }
    return most;
  }

 private:
  struct life {
    ashlar::tick begin, end;  // in steps
  };

  ashlar::tick stages() const { return s_.stage_count(); }
  ashlar::tick steps() const { return 4 * stages() * stages() * s_.micro_batch_count() + 4; }

  // The transfer of what a pass that ends at `end` made on `from` for stage `to`: from its place among
  // the transfers of that tick until `transfer` ticks later, or its place's end if it takes no time.
  life transfer(ashlar::tick end, bool gradient, int k, int from, int to) const {
    ashlar::tick const place =
        ((gradient ? 0 : s_.micro_batch_count()) + k) * stages() * stages() + from * stages() + to;
    ashlar::tick const begin = end + 1 + 2 * place;
    ashlar::tick const ticks = s_.cost.transfer(device(k, from), device(k, to));
    return {begin, ticks == 0 ? begin + 1 : end + ticks * steps()};
  }

  // The micro-batches of another stage that one of a stage has units in common with.
  std::vector<int> meeting(int k, int stage, int other) const {
    std::vector<int> found;
    int const end = k + s_.graph.size_of(stage), size = s_.graph.size_of(other);
    for (int j = 0; j < s_.micro_batch_count(); j += size)
      if (j < end && j + size > k) found.push_back(j);
    return found;
  }
  bool has(int k, int stage, ashlar::pass_kind kind) const { return when_.contains({k, stage, kind}); }
  life const& of(int k, int stage, ashlar::pass_kind kind) const { return when_.at({k, stage, kind}); }
  // The pass that gives the gradient of the input.
  life const& back(int k, int stage) const {
    using ashlar::pass_kind;
    return has(k, stage, pass_kind::backward) ? of(k, stage, pass_kind::backward)
                                              : of(k, stage, pass_kind::backward_input);
  }
  int device(int k, int stage) const { return s_.device_of({ashlar::pass_kind::forward, stage, k}); }

  void add(int k, int stage, ashlar::slot_kind kind, ashlar::tick begin, ashlar::tick end) {
    auto& all = alive_[static_cast<std::size_t>(device(k, stage))];
    all[static_cast<std::size_t>(kind)].push_back({begin, end});
  }

  void add(int k, int stage) {
    using ashlar::pass_kind;
    using ashlar::slot_kind;
    life const forward = of(k, stage, pass_kind::forward);
    ashlar::tick read = forward.end;
    std::map<int, life> received;  // by device, to which it is sent once
    for (int to : s_.graph.successors(stage)) {
      ashlar::tick used = forward.end;
      for (int j : meeting(k, stage, to)) used = std::max(used, of(j, to, pass_kind::forward).end);
      if (device(k, to) == device(k, stage)) {
        read = std::max(read, used);
        continue;
      }
      life const sent = transfer(forward.end, false, k, stage, to);
      auto const [at, is_first] = received.insert({device(k, to), {sent.begin, used}});
      at->second.end = std::max(at->second.end, used);
      if (is_first) read = std::max(read, sent.end);
    }
    if (!s_.graph.successors(stage).empty()) add(k, stage, slot_kind::activation, forward.begin, read);
    for (auto const& [device, l] : received)
      alive_[static_cast<std::size_t>(device)][static_cast<std::size_t>(slot_kind::activation)]
          .push_back(l);
    int const q = s_.graph.sequence_chunks();
    if (k % q != q - 1) {
      ashlar::tick used = of(k + 1, stage, pass_kind::forward).end;
      if (has(k + 1, stage, pass_kind::recompute))
        used = std::max(used, of(k + 1, stage, pass_kind::recompute).end);
      add(k, stage, slot_kind::sequence_state, forward.begin, used);
    }
    if (s_.mode == ashlar::execution_mode::training)
      add_backward(k, stage);
    else
      add(k, stage, slot_kind::stash, forward.begin,
          read_by_work({pass_kind::forward, stage, k}, forward.end));
  }

  // The life of a pass of the schedule's orders.
  life const& of(ashlar::pass what) const { return when_.at({what.micro_batch, what.stage, what.kind}); }
  // The time when the last work that reads what a pass leaves has ended, `least` if earlier.
  ashlar::tick read_by_work(ashlar::pass from, ashlar::tick least) const {
    for (ashlar::work_edge const& e : s_.work.edges())
      if (e.from == from) least = std::max(least, of(e.to).end);
    return least;
  }
  void add_work() {
    std::vector<ashlar::work_job> const jobs = ashlar::jobs_of(s_.work);
    for (std::size_t job = 0; job < jobs.size(); ++job)
      for (std::size_t k = 0; k < jobs[job].parts.size(); ++k) {
        if (jobs[job].does.is<ashlar::all_reduce_job>()) continue;
        ashlar::pass const what{ashlar::pass_kind::work, static_cast<int>(job), static_cast<int>(k)};
        ashlar::tick read = -1;
        for (ashlar::work_edge const& e : s_.work.edges())
          if (e.from == what) read = std::max(read, is_sum(e.to) ? sum_read(e.to) : of(e.to).end);
        if (read >= 0)
          alive_[static_cast<std::size_t>(jobs[job].parts[k].device)]
                [static_cast<std::size_t>(ashlar::slot_kind::work)]
                    .push_back({of(what).begin, read});
      }
  }
  bool is_sum(ashlar::pass what) const {
    return what.kind == ashlar::pass_kind::work
           && ashlar::jobs_of(s_.work)[static_cast<std::size_t>(what.stage)]
                  .does.is<ashlar::all_reduce_job>();
  }
  // A sum is in the slot of its terms: from the last part on, for as long as its job says, and then
  // until it is read.
  ashlar::tick sum_read(ashlar::pass sum) const {
    std::vector<ashlar::work_job> const jobs = ashlar::jobs_of(s_.work);
    ashlar::tick ready = 0, duration = 0;
    for (ashlar::work_edge const& e : s_.work.edges())
      if (e.to.kind == sum.kind && e.to.stage == sum.stage) ready = std::max(ready, of(e.from).end);
    for (ashlar::work_part const& part : jobs[static_cast<std::size_t>(sum.stage)].parts)
      duration = std::max(duration, part.duration);
    return read_by_work(sum, ready + duration * steps() + 1);
  }
  static bool keeps_state(ashlar::work_job const& job) {
    auto const* const computes = job.does.get_if<ashlar::compute_job>();
    return computes != nullptr && computes->state.is<ashlar::own_state>();
  }
  int states_on(int device) const {
    std::vector<ashlar::work_job> const jobs = ashlar::jobs_of(s_.work);
    int count = 0;
    for (ashlar::work_job const& job : jobs)
      count += keeps_state(job)
               && std::any_of(job.parts.begin(), job.parts.end(),
                              [&](ashlar::work_part const& part) { return part.device == device; });
    return count;
  }

  void add_backward(int k, int stage) {
    using ashlar::pass_kind;
    using ashlar::slot_kind;
    bool const fused = has(k, stage, pass_kind::backward), again = has(k, stage, pass_kind::recompute);
    life const forward = of(k, stage, pass_kind::forward), gradient = back(k, stage);
    life const last = fused ? gradient : of(k, stage, pass_kind::backward_weight);
    for (int from : s_.graph.predecessors(stage)) {
      ashlar::tick used = gradient.end;  // by the last of the backwards that read it
      for (int j : meeting(k, stage, from)) used = std::max(used, back(j, from).end);
      if (device(k, from) == device(k, stage)) {
        add(k, stage, slot_kind::gradient, gradient.begin, used);
        continue;
      }
      life const sent = transfer(gradient.end, true, k, stage, from);
      add(k, stage, slot_kind::gradient, gradient.begin, sent.end);
      add(k, from, slot_kind::gradient, sent.begin, used);
    }
    if (k % s_.graph.sequence_chunks() != 0)
      add(k, stage, slot_kind::sequence_gradient, gradient.begin, back(k - 1, stage).end);
    ashlar::pass const kept{again ? pass_kind::recompute : pass_kind::forward, stage, k};
    ashlar::tick const used = read_by_work(kept, std::max(gradient.end, last.end));
    if (again) {
      life const recompute = of(k, stage, pass_kind::recompute);
      add(k, stage, slot_kind::checkpoint, forward.begin, recompute.end);
      add(k, stage, slot_kind::stash, forward.begin, forward.end);
      add(k, stage, slot_kind::stash, recompute.begin, used);
    } else {
      add(k, stage, slot_kind::stash, forward.begin, used);
    }
    ashlar::pass const back{fused ? pass_kind::backward : pass_kind::backward_input, stage, k};
    add(k, stage, slot_kind::weight_stash, gradient.begin, read_by_work(back, last.end));
  }

  int stages_on(int device) const {
    int count = 0;
    for (int stage = 0; stage < s_.stage_count(); ++stage)
      for (int route = 0; route < s_.where.route_count(); ++route)
        if (s_.where.device_of(route, stage) == device) {
          ++count;
          break;  // a device's routes share the stage
        }
    return count;
  }

  ashlar::schedule const& s_;
  std::map<std::tuple<int, int, ashlar::pass_kind>, life> when_;
  std::vector<std::array<std::vector<life>, ashlar::slot_kinds>> alive_;
};
