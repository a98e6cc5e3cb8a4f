// Definitions of able.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/able.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar {

ASHLAR_INLINE void run_detail::refuse(instruction const& i, char const* who) {
  throw std::invalid_argument(std::string(who) + " cannot do the instruction " + to_string(i));
}

ASHLAR_INLINE void check_names(program_view const& p) {
  for (instruction const& i : p.instructions) {
    auto const require = [&](int n, int count, char const* what) {
      if (n < 0 || n >= count)
        throw std::invalid_argument("the instruction " + to_string(i) + " names a " + what
                                    + " that is not there");
    };
    require(i.lane, p.lane_count, "lane");
    if (is_part(i.what)) {
      auto const [job, part] = part_of(i.what);
      require(job, p.work.job_count(), "job");
      require(part, p.work.part_count(job), "part");
    } else {
      require(i.what.stage, p.stage_count, "stage");
      require(i.what.micro_batch, p.micro_batch_count, "micro-batch");
    }
    if (i.code == opcode::send || i.code == opcode::receive) require(i.peer, p.device_count, "peer");
    if (i.peer < 0 && i.code != opcode::compute && !copies_to_or_from_host(i))
      require(i.group, all_reduce_count(p), "group");
  }
}

ASHLAR_INLINE void check_gradient_sizes(program_view const& p,
                                        function_ref<value_layout(value_key)> layout) {
  if (p.graph.has_sizes()) return;
  for (int d = 0; d < p.device_count; ++d)
    for (instruction const& i : p.stream(d)) {
      if (i.code != opcode::compute || !gives_input_gradient(i.what.kind)) continue;
      int const stage = i.what.stage, k = i.what.micro_batch;
      if (p.graph.gives_gradient_early(stage)) continue;
      for (int before : p.graph.predecessors(stage)) {
        value_layout const gradient = layout({slot_kind::gradient, stage, k, before}),
                           output = layout({slot_kind::activation, before, k});
        std::size_t const one = bytes_of(gradient.element), other = bytes_of(output.element);
        // One of both is opaque: what they have in common is not known.
        if ((one == 0) != (other == 0)) continue;
        if (one == 0 ? gradient.bytes == output.bytes : gradient.bytes * other == output.bytes * one)
          continue;
        std::string const from = "stage " + std::to_string(stage),
                          to = "stage " + std::to_string(before);
        throw std::length_error(
            "device " + std::to_string(d) + ", " + to_string(i) + ": the gradient that " + from
            + " gives " + to + " has " + std::to_string(gradient.bytes) + " bytes, and the output of "
            + to + " has " + std::to_string(output.bytes) + ": layout() gives a gradient the size of "
            + from + "'s input, not of its output");
      }
    }
}

ASHLAR_INLINE void check_message_order(program_view const& p) {
  for (int d = 0; d < p.device_count; ++d) {
    std::vector<int> lanes(2 * static_cast<std::size_t>(p.device_count), -1);  // by peer, then direction
    for (instruction const& i : p.stream(d)) {
      if (i.code != opcode::send && i.code != opcode::receive) continue;
      if (i.peer < 0 || i.peer >= p.device_count)
        refuse({.broken = rule::transfers_lead_to_another_device,
                .first = {.device = d, .code = i.code, .what = i.what},
                .number = i.peer});
      int& lane = nth(lanes, 2 * i.peer + (i.code == opcode::receive ? 1 : 0));
      if (lane < 0) lane = i.lane;
      if (lane != i.lane)
        throw std::invalid_argument(
            "device " + std::to_string(d) + (i.code == opcode::send ? " sends to" : " receives from")
            + " device " + std::to_string(i.peer) + " on two lanes, the second for the instruction "
            + to_string(i) + ": messages between two devices are matched by their order");
    }
  }
}

}  // namespace ashlar
