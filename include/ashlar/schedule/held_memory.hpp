// How much of a device's memory passes and work hold, pass by pass.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/model/memory_model.hpp>
#include <ashlar/model/work.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>

namespace ashlar {

// Memory that each pass takes at its start and gives back at its end, asked in the order of each device.
// A stash (or weight stash) that work reads stays until the last reader has ended. The part of a stash
// that goes with the input pass goes then. The output of work stays from its start until the last reader
// has ended, even if it is summed over devices before that. Amortised O(log edges) per pass, after
// O(stages * micro-batches) if there is work.
class held_memory {
 public:
  // Refers to all of its arguments. Jobs without an entry in `work_bytes` hand on nothing.
  constexpr held_memory(schedule const& s, memory_model const& memory, execution_mode mode,
                        list_view<job_bytes> work_bytes = {})
      : memory_(memory), work_(s.work.view()), work_bytes_(work_bytes), mode_(mode) {
    if (work_.empty()) return;
    stages_ = static_cast<std::size_t>(s.stage_count());
    stashes_ = dynamic_array<value>(stages_ * s.route.size());
    weight_stashes_ = dynamic_array<value>(stashes_.size());
    outputs_ = dynamic_array<value>(work_.parts.size());
    for (work_edge const& e : work_.into)
      if (value* const v = work_.is_collective(e.to) ? nullptr : value_of(e.from)) ++v->readers;
  }

  // Bytes that the pass takes at its start.
  constexpr byte_count taken_by(pass what) {
    if (what.kind != pass_kind::work)
      return memory_.of(what.stage, what.micro_batch).taken_by(what.kind);
    if (!work_.knows(what) || work_.readers(what).empty()) return 0;
    auto const job = static_cast<std::size_t>(part_of(what).job);
    byte_count const bytes = job < work_bytes_.size() ? work_bytes_[job].output : 0;
    value_of(what)->deferred = bytes;
    return bytes;
  }

  // Bytes that are freed at the end of the pass.
  constexpr byte_count given_back_by(pass what) {
    if (work_.empty()) return given_back_by_pass(what);
    byte_count const of_inputs = given_back_of_inputs(what);
    if (what.kind != pass_kind::work) return of_inputs + given_back_by_pass(what);
    value* const own = value_of(what);
    if (own == nullptr || own->readers > 0) return of_inputs;
    byte_count const unread = own->deferred;
    own->deferred = 0;
    return of_inputs + unread;
  }

 private:
  struct value {
    int readers = 0;          // that have not ended
    byte_count deferred = 0;  // bytes that are freed when the last of them ends
  };

  constexpr byte_count given_back_by_pass(pass what) {
    stage_memory const& own = memory_.of(what.stage, what.micro_batch);
    byte_count const all = own.given_back_by(what.kind, mode_);
    if (work_.empty()) return all;
    if (mode_ == execution_mode::inference)
      return release_or_defer({pass_kind::forward, what.stage, what.micro_batch}, all);
    if (!gives_weight_gradient(what.kind)) return all;
    return release_or_defer({pass_kind::forward, what.stage, what.micro_batch}, all - own.weight_stash)
           + release_or_defer({pass_kind::backward, what.stage, what.micro_batch}, own.weight_stash);
  }

  constexpr byte_count given_back_of_inputs(pass what) {
    byte_count sum = 0;
    for (work_edge const& e : work_.inputs(what)) {
      value* const v = value_of(e.from);
      if (v == nullptr || --v->readers > 0) continue;
      sum += v->deferred;
      v->deferred = 0;
    }
    return sum;
  }

  // The bytes that are freed now. If readers have not ended, none: they are freed with the last reader.
  constexpr byte_count release_or_defer(pass of, byte_count bytes) {
    value* const v = value_of(of);
    if (v == nullptr || v->readers == 0) return bytes;
    v->deferred += bytes;
    return 0;
  }

  // The value of a pass; for a sum, its summand on that device. Null for unknown passes.
  constexpr value* value_of(pass what) {
    if (what.kind == pass_kind::work) {
      if (!work_.knows(what)) return nullptr;
      if (work_.is_collective(what)) what = work_.inputs(what)[0].from;
      return &nth(outputs_, work_.number(part_of(what)));
    }
    if (what.stage < 0 || what.micro_batch < 0) return nullptr;
    auto const stage = static_cast<std::size_t>(what.stage);
    std::size_t const at = static_cast<std::size_t>(what.micro_batch) * stages_ + stage;
    if (stage >= stages_ || at >= stashes_.size()) return nullptr;
    bool const is_stash = what.kind == pass_kind::forward || what.kind == pass_kind::recompute;
    return &(is_stash ? stashes_ : weight_stashes_)[at];
  }

  memory_model const& memory_;
  work_view work_;
  list_view<job_bytes> work_bytes_;
  execution_mode mode_;
  std::size_t stages_ = 0;
  dynamic_array<value> stashes_, weight_stashes_;  // by micro-batch and stage
  dynamic_array<value> outputs_;                   // of work, by number
};

}  // namespace ashlar
