// Whether a worker and a device can do what a program asks for.
#pragma once

#include <ashlar/core/refuse.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/contract.hpp>

#include <stdexcept>
#include <string>

namespace ashlar {

namespace run_detail {

[[noreturn]] inline void refuse(instruction const& i, char const* who) {
  throw std::invalid_argument(std::string(who) + " cannot do the instruction " + to_string(i));
}

template <class W, class Q>
constexpr bool has_verb(instruction const& i) {
  switch (i.code) {
    case opcode::compute:
      switch (i.what.kind) {
        case pass_kind::forward:
          return can_forward<W, Q>;
        case pass_kind::recompute:
          return can_recompute<W, Q>;
        case pass_kind::backward:
          return can_backward<W, Q>;
        case pass_kind::backward_input:
        case pass_kind::backward_weight:
          return can_backward_weight<W, Q>;
        case pass_kind::work:
          return can_work<W, Q>;
      }
      return true;
    case opcode::all_gather:
      return can_shard<W>;
    case opcode::measure:
      return can_measure<W, Q>;
    case opcode::optimize:
      return can_optimize<W, Q>;
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

// Throws std::invalid_argument for the first instruction that names something that does not exist (a
// proved program has none), or that the worker has no verb for.
template <class W, class Q>
void check_worker(program_view const& p) {
  require_well_declared<W, Q>();
  for (instruction const& i : p.instructions) {
    auto const require = [&](int n, int count, char const* what) {
      if (n < 0 || n >= count)
        throw std::invalid_argument("the instruction " + to_string(i) + " names a " + what
                                    + " that is not there");
    };
    require(i.lane, p.lane_count, "lane");
    if (i.what.kind == pass_kind::work) {
      require(i.what.stage, p.work.job_count(), "job");
      require(i.what.micro_batch, p.work.part_count(i.what.stage), "part");
    } else {
      require(i.what.stage, p.stage_count, "stage");
      require(i.what.micro_batch, p.micro_batch_count, "micro-batch");
    }
    if (i.code == opcode::send || i.code == opcode::receive) require(i.peer, p.device_count, "peer");
    if (i.peer < 0 && i.code != opcode::compute) require(i.group, all_reduce_count(p), "group");
    if (!run_detail::has_verb<W, Q>(i)) run_detail::refuse(i, "the worker");
  }
}

// The same for a worker and a device. Throws violation with check_progress if the device needs more than
// the independent lanes that every proved program allows.
template <class W, class D>
void check_able(program_view const& p) {
  require_device<D>();
  check_worker<W, typename D::queue>(p);
  for (instruction const& i : p.instructions)
    if (!collective_backend<D> && run_detail::meets_others(i)) run_detail::refuse(i, "the device");
  if constexpr (D::needs != progress_level::independent_lanes)
    if (diagnosis const d = check_progress(p, D::needs); !d.ok()) refuse(d);
}

}  // namespace ashlar
