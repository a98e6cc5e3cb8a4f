// The reference: runs a program's passes one after another on the calling thread, without its slots,
// transfers and lanes.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/program/operands.hpp>
#include <ashlar/prove/proved_program.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/host_memory.hpp>
#include <ashlar/run/worker_ref.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace ashlar {

// Every value has memory of its own. The program only provides the passes, and the order in which each
// device adds micro-batches to its accumulators, scatter by scatter. Sums over holders and data-parallel
// ranks are in their order. So the results are, bit for bit, those that the program must give on any
// backend that sums in that order.
class sequential {
 public:
  struct queue {};  // all is done when a verb returns

  // Throws violation with check(p) for a program that is not proved.
  template <worker Worker>
  sequential(proved_program p, Worker& w) : sequential(std::move(p), std::vector<Worker*>{&w}) {}
  // Takes data-parallel ranks, a worker each. Throws std::invalid_argument unless their number is the
  // program's, and if they lack a verb that it needs; std::length_error as check_gradient_sizes.
  template <worker Worker>
  sequential(proved_program p, std::vector<Worker*> const& ranks)
      : sequential(std::move(p), worker_refs<queue>(ranks)) {}
  sequential(proved_program p, std::vector<worker_ref<queue>> ranks);

  // Runs one step. Needs memory for all values of all micro-batches at once. The state of work stays for
  // the next.
  void run();

 private:
  // The key of a value: kind, the object it belongs to, micro-batch, target stage; for values of the
  // step the device and, for accumulators, the number of earlier scatters; and the rank.
  using key = std::tuple<slot_kind, int, int, int, int, int, std::size_t>;

  parameter_groups const& groups() const { return program_->groups; }
  bool is_sharded() const { return program_->sharding != sharding_level::none; }
  bool is_sharded(int group) const {
    return program_->view().gradient_kind(group) == slot_kind::gradient_shard;
  }

  key key_of(value_key const& v) const { return {v.kind, v.of, v.micro_batch, v.to, -1, 0, rank_}; }
  key whole_weights(int device, int group) const {
    return {slot_kind::weight, group, -1, -1, device, 0, 0};
  }
  key accumulator(int device, int group, int part, std::size_t rank) const {
    return {slot_kind::weight_gradient, group, -1, -1, device, part, rank};
  }
  // The key of a value that a pass on a device reads or writes.
  key key_on(int device, value_key const& v);

  // Gathers the whole weights of every holder, equal on all ranks; kept at rank 0.
  void gather_weights();
  buffer part_of(buffer whole, std::size_t rank, element_type element) const;

  // Sums a group. Whole: holder by holder, the ranks in order. Sharded: of each holder, the parts in the
  // order of its scatters, each in the order of the ranks; then holder by holder. The sum is the memory
  // of the first holder, part and rank, and shards are cut out of it.
  void reduce(int group);
  element_type element_of(int group) const {
    value_layout const layout = workers_[0].layout({slot_kind::weight_gradient, group});
    return layout.element;
  }
  parameter_frame parameters(int group, std::size_t rank, int device) const {
    return {.group = group, .gradient = gradient_of(group, rank), .site = site_of(group, rank, device)};
  }
  work_site site_of(int group, std::size_t rank, int device) const;
  work_site site_of_pass(pass what, int device) const {
    if (!is_part(what)) return site_of(what.stage, rank_, device);
    return {.device = device, .rank = static_cast<int>(rank_)};
  }
  buffer gradient_of(int group, std::size_t rank) const {
    buffer const whole = nth(gradients_, group);
    return is_sharded(group) ? part_of(whole, rank, element_of(group)) : whole;
  }

  // Whole values beside sharded ones are equal on all ranks, so each rank measures its part.
  buffer measured(int group, std::size_t rank) const {
    buffer const gradient = gradient_of(group, rank);
    return is_sharded() && !is_sharded(group) ? part_of(gradient, rank, element_of(group)) : gradient;
  }

  // Sums the norm as programs do: by rank, by device, by group.
  void take_steps();

  bool advance(int device, std::size_t& next);

  bool try_compute(int device, instruction const& i);

  // Computes a part of collective work, if all its inputs exist: part by part, in each the ranks, or
  // this rank alone.
  bool try_sum(part_id part);

  // The memory of a value; zero when it is new.
  buffer make(key const& k);

  queue only_;
  std::unique_ptr<program const> program_;  // stays where it is
  std::unique_ptr<program_shape> shape_;
  std::vector<worker_ref<queue>> workers_;                  // by rank
  std::size_t rank_ = 0;                                    // the rank whose passes run
  std::map<std::tuple<std::size_t, int, int>, int> parts_;  // by rank, device and group: scatters so far
  std::vector<buffer> gradients_;                           // by group, complete
  std::map<key, aligned_memory> memory_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/sequential.ipp>
#endif
