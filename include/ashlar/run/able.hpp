// Checks that a worker and a device support a program.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/run/worker_ref.hpp>

namespace ashlar {

namespace run_detail {

[[noreturn]] void refuse(instruction const& i, char const* who);

template <class Q>
bool has_verb(worker_ref<Q> w, instruction const& i) {
  switch (i.code) {
    case opcode::compute:
      return w.can(i.what.kind);
    case opcode::all_gather:
      return w.can_shard();
    case opcode::measure:
      return w.can_measure();
    case opcode::optimize:
      return w.can_optimize();
    default:
      return true;
  }
}

inline bool meets_others(instruction const& i) {
  switch (i.code) {
    case opcode::all_reduce:
      return i.lane != compute_lane;
    case opcode::all_gather:
    case opcode::reduce_scatter:
      return true;
    default:
      return false;
  }
}

}  // namespace run_detail

// Throws std::invalid_argument for the first instruction that names something that does not exist; a
// proved program has none.
void check_names(program_view const& p);

// Throws std::invalid_argument for the first message between two devices on another lane than the
// earlier ones in that direction. Devices match messages between two of them by their order, which
// parallel lanes do not keep (transfer_lanes::one_a_kind, which is PyTorch's). Throws violation for one
// with a device that there is not: rule::transfers_lead_to_another_device.
void check_message_order(program_view const& p);

// Throws std::length_error for the first gradient whose size is not that of the activation that it is
// for: a stage's gradient has the size of its input. Sizes are compared in elements; an opaque type only
// with another one. Shards that give gradients early, in parts, and stages with micro-batches of
// different sizes are left out. `layout` is the worker's.
void check_gradient_sizes(program_view const& p, function_ref<value_layout(value_key)> layout);

// Checks names as check_names does and sizes as check_gradient_sizes does, and throws for the first
// instruction without a verb of the worker.
template <class Q>
void check_worker(program_view const& p, worker_ref<Q> w) {
  check_names(p);
  for (instruction const& i : p.instructions)
    if (!run_detail::has_verb(w, i)) run_detail::refuse(i, "the worker");
  check_gradient_sizes(p, [w](value_key key) { return w.layout(key); });
}

// Checks a worker and a device. Throws violation with check_progress if the device needs more than the
// independent lanes that every proved program allows.
template <class D>
void check_able(program_view const& p, worker_ref<typename D::queue> w) {
  require_device<D>();
  check_worker(p, w);
  check_message_order(p);
  for (instruction const& i : p.instructions)
    if ((!collective_backend<D> && run_detail::meets_others(i))
        || (!offloading_backend<D> && copies_to_or_from_host(i)))
      run_detail::refuse(i, "the device");
  if constexpr (D::needs != progress_level::independent_lanes)
    if (diagnosis const d = check_progress(p, D::needs); !d.ok()) refuse(d);
}

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/able.ipp>
#endif
