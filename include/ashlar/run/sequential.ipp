// Definitions of sequential.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/sequential.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>

namespace ashlar {

ASHLAR_INLINE sequential::sequential(proved_program p, std::vector<worker_ref<queue>> ranks)
    : program_(std::make_unique<program>(std::move(p).take())), workers_(std::move(ranks)) {
  if (workers_.empty() || static_cast<int>(workers_.size()) != program_->data_ranks)
    throw std::invalid_argument("a worker per data-parallel rank is needed");
  for (worker_ref<queue> const w : workers_) check_worker(program_->view(), w);
  shape_ = std::make_unique<program_shape>(program_->view());
  shape_->add_all();
}

ASHLAR_INLINE void sequential::run() {
  std::erase_if(memory_, [this](auto const& m) {
    return std::get<0>(m.first) != slot_kind::work_state
           || program_->work.view().clears_state(std::get<1>(m.first));
  });
  gather_weights();
  parts_.clear();
  // Goes rank after rank, and device after device while inputs are available, until all are through. A
  // proved program does not get stuck.
  auto const count = static_cast<std::size_t>(program_->device_count());
  std::vector<std::size_t> next(count * workers_.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (rank_ = 0; rank_ < workers_.size(); ++rank_)
      for (std::size_t d = 0; d < count; ++d)
        moved = advance(static_cast<int>(d), next[rank_ * count + d]) || moved;
  }
  if (program_->mode == execution_mode::inference) return;
  gradients_.resize(static_cast<std::size_t>(groups().count()));
  for (int group = 0; group < groups().count(); ++group) reduce(group);
  take_steps();
}

ASHLAR_INLINE sequential::key sequential::key_on(int device, value_key const& v) {
  if (v.kind == slot_kind::weight) return whole_weights(device, v.of);
  if (v.kind == slot_kind::weight_gradient)
    return accumulator(device, v.of, parts_[{rank_, device, v.of}], rank_);
  if (v.kind == slot_kind::work_state) return {v.kind, v.of, -1, -1, device, 0, rank_};
  return key_of(v);
}

ASHLAR_INLINE void sequential::gather_weights() {
  if (workers_[0].can_shard()) {
    rank_ = 0;
    for (int group = 0; group < program_->stage_count() && is_sharded(); ++group) {
      int member = 0;
      for (int device : groups().holders(group)) {
        buffer const whole = make(whole_weights(device, group));
        element_type const element = workers_[0].layout({slot_kind::weight, group}).element;
        for (std::size_t r = 0; r < workers_.size(); ++r) {
          buffer const shard = workers_[r].shard(group, member);
          buffer const part = part_of(whole, r, element);
          if (!shard.empty()) std::memcpy(part.data(), shard.data(), part.size());
        }
        ++member;
      }
    }
  }
}

ASHLAR_INLINE buffer sequential::part_of(buffer whole, std::size_t rank, element_type element) const {
  byte_range const part = shard_of(whole.size(), static_cast<int>(rank), program_->data_ranks, element);
  return whole.subspan(part.begin, part.size);
}

ASHLAR_INLINE void sequential::reduce(int group) {
  buffer sum;
  for (int device : groups().holders(group)) {
    buffer of_holder;
    for (int part = 0; part == 0 || memory_.contains(accumulator(device, group, part, 0)); ++part)
      for (std::size_t r = 0; r < workers_.size(); ++r) {
        rank_ = r;
        buffer const next = make(accumulator(device, group, part, r));
        buffer& into = is_sharded(group) ? of_holder : sum;
        if (into.data() == nullptr)
          into = next;
        else
          add_elements(into, next, element_of(group));
      }
    if (!is_sharded(group)) continue;
    if (sum.data() == nullptr)
      sum = of_holder;
    else
      add_elements(sum, of_holder, element_of(group));
  }
  nth(gradients_, group) = sum;
  if (workers_[0].is_notified())
    for (std::size_t r = 0; r < workers_.size(); ++r)
      for (int device : groups().holders(group))
        workers_[r].reduced(only_, parameters(group, r, device));
}

ASHLAR_INLINE work_site sequential::site_of(int group, std::size_t rank, int device) const {
  return {.device = device,
          .rank = static_cast<int>(rank),
          .replica = std::max(0, groups().member_of(group, device))};
}

ASHLAR_INLINE void sequential::take_steps() {
  double sum = 0;
  if (workers_[0].can_measure())
    for (std::size_t r = 0; r < (is_sharded() ? workers_.size() : 1); ++r)
      for (int d = 0; d < program_->device_count() && program_->step == optimizer_step::after_norm;
           ++d) {
        std::vector<port> gradients;
        for (int group = 0; group < groups().count(); ++group)
          if (groups().holders(group)[0] == d)
            gradients.push_back({measured(group, r), group, element_of(group)});
        double mine = 0;
        workers_[r].measure(only_, {.gradients = gradients,
                                    .scalar = std::as_writable_bytes(std::span(&mine, 1)),
                                    .site = site_of(groups().everyone(), r, d)});
        sum += mine;
      }
  program_view const view = program_->view();
  for (std::size_t r = 0; r < workers_.size(); ++r)
    for (int d = 0; d < program_->device_count(); ++d)
      for (instruction const& i : view.stream(d))
        if (i.code == opcode::optimize) {
          parameter_frame f = parameters(i.group, r, d);
          if (program_->step == optimizer_step::after_norm)
            f.scalar = std::as_writable_bytes(std::span(&sum, 1));
          workers_[r].optimize(only_, f);
        }
}

ASHLAR_INLINE bool sequential::advance(int device, std::size_t& next) {
  bool moved = false;
  list_view<instruction> const stream = program_->view().stream(device);
  for (; next < stream.size(); ++next) {
    instruction const& i = stream[next];
    if (i.code == opcode::compute && !try_compute(device, i)) return moved;
    if (sums_work(i) && !try_sum(ashlar::part_of(i.what))) return moved;
    if (i.code == opcode::reduce_scatter) ++parts_[{rank_, device, i.group}];
    moved = true;
  }
  return moved;
}

ASHLAR_INLINE bool sequential::try_compute(int device, instruction const& i) {
  frame f{.what = i.what, .inputs = {}, .outputs = {}, .site = site_of_pass(i.what, device)};
  std::vector<port> inputs, outputs, shared;
  std::vector<work_port> of_work;
  work_view const work = program_->work.view();
  bool ready = true;
  for (work_edge const& e : work.inputs(i.what)) {
    value_key const v = value_for_work(e.from);
    if (!memory_.contains(key_of(v))) return false;
    of_work.push_back({make(key_of(v)), e.from, workers_[rank_].layout(v).element});
  }
  for_each_operand(*shape_, device, i, [&](value_key const& v, access how, int) {
    bool const reads = how == access::read;
    bool const is_known = v.kind == slot_kind::micro_gradient || !reads;  // or found above
    if (!ready || (!is_known && (is_part(i.what) || v.kind == slot_kind::work))) return;
    if (v.kind == slot_kind::activation || v.kind == slot_kind::gradient) {
      ready = !reads || memory_.contains(key_of(v));
      if (ready)
        (reads ? inputs : outputs)
            .push_back({make(key_of(v)), reads ? v.of : v.to, workers_[rank_].layout(v).element,
                        v.micro_batch});
      return;
    }
    bool const is_kept = v.kind == slot_kind::checkpoint || v.kind == slot_kind::stash;
    if (is_kept && reads && !memory_.contains(key_of(v))) {  // of a forward elsewhere
      ready = false;
      return;
    }
    buffer const bytes = make(key_on(device, v));
    if (v.kind == slot_kind::weight_gradient && v.of >= program_->stage_count())
      shared.push_back({bytes, v.of, element_of(v.of)});
    else if (buffer* const own = place_in(f, v.kind, reads))
      *own = bytes;
  });
  if (!ready) return false;
  f.inputs = inputs;
  f.outputs = outputs;
  f.shared_gradients = shared;
  f.work_inputs = of_work;
  workers_[rank_].compute(only_, f);
  return true;
}

ASHLAR_INLINE bool sequential::try_sum(part_id part) {
  work_view const work = program_->work.view();
  bool const across = work.spans_ranks(part.job);
  std::vector<buffer> all;
  for (int k = 0; k < work.part_count(part.job); ++k)
    for (std::size_t r = across ? 0 : rank_; r < (across ? workers_.size() : rank_ + 1); ++r) {
      value_key const v = summed_value(work, {part.job, k});
      auto const found = memory_.find({v.kind, v.of, v.micro_batch, v.to, -1, 0, r});
      if (found == memory_.end()) return false;
      all.push_back(found->second.view());
    }
  value_key const sum = work_value(part);
  buffer const into = make(key_of(sum));
  if (into.size() != all[0].size())
    throw std::length_error("a sum of work differs in size from what it sums");
  std::memcpy(into.data(), all[0].data(), into.size());
  for (std::size_t i = 1; i < all.size(); ++i)
    add_elements(into, all[i], workers_[rank_].layout(sum).element);
  return true;
}

ASHLAR_INLINE buffer sequential::make(key const& k) {
  auto found = memory_.find(k);
  if (found == memory_.end()) {
    value_layout const layout =
        workers_[rank_].layout({std::get<0>(k), std::get<1>(k), std::get<2>(k), std::get<3>(k)});
    found = memory_.try_emplace(k, layout.bytes, layout.alignment).first;
  }
  return found->second.view();
}

}  // namespace ashlar
