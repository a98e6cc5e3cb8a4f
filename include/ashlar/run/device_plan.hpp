// One device's stream with everything looked up beforehand, so that a step allocates nothing.
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

// What an engine walks in a step of one device.
class device_plan {
 public:
  // `layout` is the worker's; `memory` is as large and aligned as the table says, in whatever memory the
  // device computes; so is `host_memory`, that a program needs which offloads, on the host. Throws
  // std::length_error when a slot is too small for a value in it.
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

  // What all do but passes and transfers.
  struct group_step {
    collective_call collective;  // of an all_reduce, all_gather, reduce_scatter
    parameter_frame parameters;  // of what reduces, clears, measures and optimizes
  };
  // An instruction and what it needs. Asking for what others need throws std::bad_variant_access.
  struct step {
    instruction what;
    bool is_second = false;  // of an overlapped pair, which its first runs
    std::variant<ashlar::frame, transfer_call, group_step, copy_call> does = {};

    // Of a compute.
    ashlar::frame const& frame() const { return std::get<ashlar::frame>(does); }
    // Of a send or receive.
    transfer_call const& transfer() const { return std::get<transfer_call>(does); }
    // Of an offload or reload.
    copy_call const& copy() const { return std::get<copy_call>(does); }
    // Of all others.
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
  // How many instructions of its lane stand before an instruction.
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
