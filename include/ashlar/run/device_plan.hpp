// One device's stream with all look-ups done, so that a step allocates nothing.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/event_table.hpp>
#include <ashlar/program/slot_layout.hpp>
#include <ashlar/run/contract.hpp>
#include <ashlar/run/frame.hpp>

#include <cstddef>
#include <variant>
#include <vector>

namespace ashlar {

// Size, alignment and type of the values of a model: its worker's layout().
using layout_function = function_ref<value_layout(value_key)>;

// The plan that an engine executes in a step of one device.
class device_plan {
 public:
  // `layout` is the worker's. `memory` has the table's size and alignment, where the device computes; so
  // has `host_memory`, on the host, for programs that offload. Throws std::length_error if a slot is too
  // small for a value in it.
  device_plan(program_view const& p, int rank, int device, layout_function layout,
              slot_table const& slots, std::byte* memory,
              wait_detail detail = wait_detail::last_of_a_lane, std::byte* host_memory = nullptr);
  template <worker Worker>
  device_plan(program_view const& p, int rank, int device, Worker const& w, slot_table const& slots,
              std::byte* memory, wait_detail detail = wait_detail::last_of_a_lane,
              std::byte* host_memory = nullptr)
      : device_plan(p, rank, device,
                    layout_function([&w](value_key key) -> value_layout { return w.layout(key); }),
                    slots, memory, detail, host_memory) {}
  device_plan(device_plan const&) = delete;  // frames point into it
  device_plan(device_plan&&) = default;      // and stay where they are
  device_plan& operator=(device_plan&&) = default;

  // The data of instructions other than passes, transfers and copies.
  struct group_step {
    collective_call collective;  // of an all_reduce, all_gather, reduce_scatter
    parameter_frame parameters;  // of instructions that reduce, clear, measure and optimize
  };
  // An instruction and its data. Access to the data of another kind throws std::bad_variant_access.
  struct step {
    instruction what;
    bool is_second = false;  // the second of an overlapped pair, which the first runs
    std::variant<ashlar::frame, transfer_call, group_step, copy_call> does = {};

    // Requires a compute.
    ashlar::frame const& frame() const { return std::get<ashlar::frame>(does); }
    // Requires a send or receive.
    transfer_call const& transfer() const { return std::get<transfer_call>(does); }
    // Requires an offload or reload.
    copy_call const& copy() const { return std::get<copy_call>(does); }
    // These require another instruction.
    collective_call const& collective() const { return std::get<group_step>(does).collective; }
    parameter_frame const& parameters() const { return std::get<group_step>(does).parameters; }
  };

  // An instruction by its index in the device's stream.
  step const& at(int index) const { return nth(steps_, index); }
  int size() const { return static_cast<int>(steps_.size()); }
  event_table const& events() const { return events_; }

  int lane_count() const { return static_cast<int>(lanes_.size()); }
  // Indices of a lane's instructions, in order.
  std::vector<int> const& lane(int number) const { return nth(lanes_, number); }
  // The number of instructions before this one on its lane.
  int position(int index) const { return nth(position_, index); }

 private:
  struct filler;

  event_table events_;
  std::vector<std::vector<int>> lanes_;
  std::vector<int> position_;
  std::vector<step> steps_;
  std::vector<port> ports_;
  std::vector<work_port> work_ports_;
};

}  // namespace ashlar

#ifndef ASHLAR_COMPILED
#include <ashlar/run/device_plan.ipp>
#endif
