// Level "complete": every pass runs once, every transfer has exactly its two halves, every gradient is
// reduced once.
#pragma once

#include <ashlar/block/check.hpp>
#include <ashlar/block/work_register.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/held_groups.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/model/taken_gradients.hpp>
#include <ashlar/prove/messages.hpp>
#include <ashlar/prove/sharing.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

namespace prove_detail {

// Checks that passes are on their devices, once each, with the backward fused or split, and parts of
// work, too.
constexpr diagnosis computes_are_complete(program const& p, message_index const& index) {
  pass_register passes(p.stage_count(), p.micro_batch_count());
  work_register work(p.work.view());
  instruction const* const all = p.instructions.data();
  int const* const route = p.route.data();
  int const m = p.micro_batch_count();
  for (int here = 0; here < p.device_count(); ++here)
    for (int i = stream_begin(p, here), end = stream_end(p, here); i < end; ++i) {
      instruction const& self = all[i];
      pass const& what = self.what;
      bool const computes = self.code == opcode::compute;
      if (!computes && !sums_work(self)) continue;
      if (!computes || what.kind == pass_kind::work) {
        diagnosis const d = work.enter(index.at(i), !computes, 0);
        if (!d.ok()) return d;
        continue;
      }
      if (!p.graph.has(what, m)) return {.broken = rule::every_pass_is_known, .first = index.at(i)};
      int const device = p.where.device_of(route[what.micro_batch], what.stage, result_of(what.kind));
      if (device != here)
        return {.broken = rule::pass_is_on_its_device,
                .first = index.at(i),
                .second = {.device = device, .what = what}};
      if (!passes.enter(what, 0)) return passes.clash(index.at(i));
    }
  diagnosis d = passes.complete(p.graph, m, p.mode);
  if (!d.ok())
    d.first.device = p.where.device_of(nth(p.route, d.first.what.micro_batch), d.first.what.stage,
                                       result_of(d.first.what.kind));
  if (!d.ok() || p.work.empty()) return d;
  d = work.complete(p.graph, p.where, p.route, passes, false);
  if (!d.ok() && d.broken == rule::every_pass_is_present && p.work.view().is_collective(d.first.what))
    d.first.code = opcode::all_reduce;
  return d;
}

// Whether a stage before `to` on its device needs the activation of `from`, too: one transfer serves
// all.
constexpr bool is_served_by_another(program const& p, int route, int from, int to) {
  for (int other : p.graph.readers(from)) {
    if (other == to) return false;
    if (p.where.device_of(route, other) == p.where.device_of(route, to)) return true;
  }
  return false;
}

// Checks that where a stage moves, each forward sends what it keeps to the device of its backward.
constexpr diagnosis kept_values_are_sent(program const& p, message_index const& index) {
  if (!p.where.moves() || p.mode == execution_mode::inference) return {};
  for (int k = 0; k < p.micro_batch_count(); ++k)
    for (int stage = 0; stage < p.stage_count(); ++stage) {
      int const source = p.where.device_of(nth(p.route, k), stage),
                target = p.where.backward_device_of(nth(p.route, k), stage);
      if (source == target) continue;
      auto const& ends = index.of(index.number_of_kept(stage, k));
      pass const what{pass_kind::forward, stage, k};
      if (ends.receive == message_index::nowhere)
        return {.broken = rule::every_send_has_its_receive,
                .first = {.device = source, .code = opcode::send, .what = what},
                .second = {.device = target, .code = opcode::receive, .what = what}};
      if (ends.send == message_index::nowhere)
        return {.broken = rule::every_receive_has_its_send,
                .first = index.at(ends.receive),
                .second = {.device = source, .code = opcode::send, .what = what}};
    }
  return {};
}

// Checks that every edge between devices carries both its messages, every link among shards one, and
// nothing else carries any.
constexpr diagnosis transfers_are_complete(program const& p, message_index& index) {
  instruction const* const all = p.instructions.data();
  int const* const route_of = p.route.data();
  for (int here = 0; here < p.device_count(); ++here)
    for (int i = stream_begin(p, here), end = stream_end(p, here); i < end; ++i) {
      instruction const& self = all[i];
      if (self.code != opcode::send && self.code != opcode::receive) continue;
      bool const sends = self.code == opcode::send;
      int const message = index.number(self);
      if (message == message_index::nowhere)
        return {.broken = rule::every_pass_is_known, .first = index.at(i)};
      int const route = route_of[self.what.micro_batch];
      result const made = result_of(self.what.kind);
      bool const is_kept = made == result::activation && self.to == self.what.stage;
      int const source = p.where.device_of(route, self.what.stage, made),
                target = is_kept ? p.where.backward_device_of(route, self.to)
                                 : p.where.device_of(route, self.to, made);
      if (source == target)
        return {.broken = rule::transfers_lead_to_another_device, .first = index.at(i)};
      if ((sends ? source : target) != here || (sends ? target : source) != self.peer)
        return {.broken = sends ? rule::every_send_has_its_receive : rule::every_receive_has_its_send,
                .first = index.at(i),
                .second = {.device = self.peer, .what = self.what}};
      int const same = index.enter(message, i);
      if (same != message_index::nowhere)
        return {.broken = rule::no_transfer_is_doubled, .first = index.at(i), .second = index.at(same)};
    }
  for (std::size_t k = 0; k < p.route.size(); ++k)
    for (int from = 0; from < p.stage_count(); ++from) {
      int link = p.graph.first_link(from);
      for (int to : p.graph.readers(from)) {
        int const micro_batch = static_cast<int>(k);
        int const first = index.number(link++, micro_batch);
        int const directions = p.graph.shards_with(from).empty() ? 2 : 1;
        for (int back = 0; back < directions; ++back) {
          auto const& ends = index.of(first + back);
          if (ends.send != message_index::nowhere && ends.receive != message_index::nowhere) continue;
          result const made = back == 0 ? result::activation : result::input_gradient;
          int const up = p.where.device_of(p.route[k], from, made),
                    down = p.where.device_of(p.route[k], to, made);
          if (up == down) continue;
          if (!p.graph.runs(back == 0 ? from : to, micro_batch)) continue;
          bool const neither =
              ends.send == message_index::nowhere && ends.receive == message_index::nowhere;
          if (back == 1 && p.mode == execution_mode::inference && neither) continue;
          if (back == 0 && neither && is_served_by_another(p, p.route[k], from, to)) continue;
          pass const what{back == 0 ? pass_kind::forward : pass_kind::backward_input,
                          back == 0 ? from : to, micro_batch};
          int const source = back == 0 ? up : down, target = back == 0 ? down : up;
          if (ends.receive == message_index::nowhere) {
            // A variable, as below: nvcc 13's front end crashes on a conditional of braced sites.
            site sent{.device = source, .code = opcode::send, .what = what};
            if (ends.send != message_index::nowhere) sent = index.at(ends.send);
            return {.broken = rule::every_send_has_its_receive,
                    .first = sent,
                    .second = {.device = target, .code = opcode::receive, .what = what}};
          }
          return {.broken = rule::every_receive_has_its_send,
                  .first = index.at(ends.receive),
                  .second = {.device = source, .code = opcode::send, .what = what}};
        }
      }
    }
  return kept_values_are_sent(p, index);
}

// Checks that each holder reduces each of its groups once, after the last weight pass of a stage that
// uses it.
constexpr diagnosis reductions_are_complete(program const& p, message_index const& index) {
  // By group: where it is reduced, on this device if that is in its stream.
  dynamic_array<int> reduced(static_cast<std::size_t>(p.groups.count()), -1);
  group_view const groups = p.groups.view();
  lists<int> const held = held_groups(groups, p.device_count());
  instruction const* const all = p.instructions.data();
  for (int d = 0; d < p.device_count(); ++d) {
    int const begin = stream_begin(p, d), end = stream_end(p, d);
    for (int i = begin; i < end; ++i) {
      instruction const& self = all[i];
      if (self.code == opcode::all_reduce && sums_gradient(self)) {
        int& before = nth(reduced, self.group);
        if (before >= begin)
          return {.broken = rule::gradient_is_reduced_once,
                  .first = index.at(i),
                  .second = index.at(before)};
        before = i;
      }
      if (self.code != opcode::compute || !gives_weight_gradient(self.what.kind)) continue;
      int before = -1;
      for_each_group_of(groups, p.stage_count(), self.what.stage, [&](int group) {
        if (before < begin) before = nth(reduced, group);
      });
      if (before >= begin)
        return {.broken = rule::gradient_is_reduced_after_its_last_weight_pass,
                .first = index.at(before),
                .second = index.at(i)};
    }
    for (int group : nth(held, d)) {  // no other is named here
      int const at = nth(reduced, group);
      if ((at >= begin) == (p.mode == execution_mode::training)) continue;
      site place{.device = d,
                 .code = opcode::all_reduce,
                 .what = {pass_kind::backward_weight, p.groups.stages(group)[0], 0}};
      if (at >= begin) place = index.at(at);
      return {.broken = rule::gradient_is_reduced_once, .first = place};
    }
  }
  return {};
}

// Checks gradients that work takes: a micro-batch at a time, and nothing is reduced before it is given
// back.
constexpr diagnosis taken_gradients_are_complete(program const& p, message_index const& index) {
  if (diagnosis const d = check_taken_gradients(p.work.view(), p.sharding, p.groups); !d.ok()) return d;
  taken_gradients taken(p.work.view(), p.stage_count(), p.micro_batch_count());
  for (int d = 0; d < p.device_count() && !taken.empty(); ++d) {
    taken.begin_device();
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
      instruction const& self = nth(p.instructions, i);
      diagnosis found;
      if (self.code == opcode::compute) found = taken.visit(index.at(i));
      if (sums_gradient(self) && self.group < p.stage_count())
        found = taken.reduce(index.at(i), self.group);
      if (!found.ok()) return found;
    }
    if (diagnosis const found = taken.end_device(); !found.ok()) return found;
  }
  return {};
}

// Checks that state kept for a step is cleared after the last part that uses it.
constexpr diagnosis states_are_cleared(program const& p, message_index const& index) {
  work_view const work = p.work.view();
  for (int d = 0; d < p.device_count() && !work.empty(); ++d) {
    dynamic_array<int> cleared(static_cast<std::size_t>(work.job_count()), -1);  // by job: where
    dynamic_array<int> used = cleared;
    for (int i = stream_begin(p, d); i < stream_end(p, d); ++i) {
      instruction const& self = nth(p.instructions, i);
      bool const clears = self.code == opcode::clear && self.subject == slot_kind::work_state;
      bool const uses =
          self.code == opcode::compute && is_part(self.what) && work.uses_state(part_of(self.what).job);
      if (!clears && !uses) continue;
      int const named = part_of(self.what).job, job = clears ? named : work.state_of(named);
      int const before = nth(cleared, job);
      if (before >= 0)
        return {.broken = rule::state_is_cleared_after_its_last_use,
                .first = index.at(before),
                .second = index.at(i)};
      nth((clears ? cleared : used), job) = i;
    }
    for (int job = 0; job < work.job_count(); ++job) {
      int const last = nth(used, job);
      if (last < 0 || !work.clears_state(job) || nth(cleared, job) >= 0) continue;
      return {.broken = rule::state_is_cleared_after_its_last_use,
              .first = {.device = d, .code = opcode::clear, .what = part_id{job, 0}},
              .second = index.at(last)};
    }
  }
  return {};
}

// Checks copies to the host: the value is one that a forward of the device keeps and only passes read,
// and it comes back once. (memory_safe.hpp checks their order.)
constexpr diagnosis copies_are_complete(program const& p, message_index const& index) {
  if (!p.offloads) return {};
  auto const m = static_cast<std::size_t>(p.micro_batch_count());
  struct copy_pair {
    int out = -1, in = -1;
  };
  dynamic_array<copy_pair> copies(static_cast<std::size_t>(p.stage_count()) * m, copy_pair{});
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    instruction const& self = p.instructions[i];
    if (!copies_to_or_from_host(self)) continue;
    site const where = index.at(static_cast<int>(i));
    if (self.what.kind != pass_kind::forward || !p.graph.has(self.what, p.micro_batch_count()))
      return {.broken = rule::every_pass_is_known, .first = where};
    if (p.mode == execution_mode::inference)
      return {.broken = rule::inference_goes_forward_only, .first = where};
    int const device = p.where.device_of(nth(p.route, self.what.micro_batch), self.what.stage);
    if (device != where.device)
      return {.broken = rule::pass_is_on_its_device,
              .first = where,
              .second = {.device = device, .what = self.what}};
    auto const at =
        static_cast<std::size_t>(self.what.stage) * m + static_cast<std::size_t>(self.what.micro_batch);
    int& mine = self.code == opcode::offload ? copies[at].out : copies[at].in;
    if (mine >= 0)
      return {.broken = rule::what_leaves_comes_back, .first = where, .second = index.at(mine)};
    if (!p.work.empty() && p.work.view().readers(self.what).size() > 0)
      return {.broken = rule::what_leaves_comes_back,
              .first = where,
              .second = {.device = device, .what = p.work.view().readers(self.what)[0].to}};
    mine = static_cast<int>(i);
  }
  for (copy_pair const& c : copies)
    if ((c.out < 0) != (c.in < 0))
      return {.broken = rule::what_leaves_comes_back, .first = index.at(c.out < 0 ? c.in : c.out)};
  return {};
}

// Computing, the transfers with a peer and the collectives have a lane each: a model is called by one
// thread per device, and a communicator belongs to one lane. Only then does the order of a lane say in
// which order messages meet.
constexpr diagnosis lanes_are_right(program const& p, message_index const& index) {
  instruction const* const all = p.instructions.data();
  for (int i = 0, count = static_cast<int>(p.instructions.size()); i < count; ++i) {
    instruction const& self = all[i];
    if (self.lane != (self.code == opcode::compute ? compute_lane : p.lane_of(self)))
      return {
          .broken = rule::every_instruction_is_on_its_lane, .first = index.at(i), .number = self.lane};
  }
  return {};
}

}  // namespace prove_detail

// Fills the index on the way. Linear in instructions and holders, and in devices times jobs; weight
// passes take longer by the lists of parameters that stages have in common.
constexpr diagnosis check_complete(program const& p, message_index& index) {
  if (diagnosis const d = prove_detail::computes_are_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = prove_detail::transfers_are_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = prove_detail::reductions_are_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = prove_detail::taken_gradients_are_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = prove_detail::states_are_cleared(p, index); !d.ok()) return d;
  if (diagnosis const d = prove_detail::copies_are_complete(p, index); !d.ok()) return d;
  if (diagnosis const d = check_sharing(p, index); !d.ok()) return d;
  return prove_detail::lanes_are_right(p, index);
}

}  // namespace ashlar
