// Definitions of device_plan.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/run/device_plan.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace ashlar {

struct device_plan::filler {
  device_plan& plan;
  program_view const& p;
  layout_function layout_of;
  slot_table const& slots;
  std::byte* memory;
  std::byte* host_memory;
  int rank, device;

  // Ports of an instruction: those it reads, writes, and adds to.
  struct port_counts {
    std::size_t inputs = 0, outputs = 0, shared_gradients = 0;
  };

  void fill() {
    list_view<instruction> const stream = p.stream(device);
    program_shape shape(p);
    shape.add_all();
    std::size_t operands = 0;
    for (instruction const& i : stream) operands += p.operands_of(i).size();
    plan.ports_.reserve(operands);  // frames point into it
    plan.work_ports_.reserve(operands);
    plan.steps_.reserve(stream.size());
    plan.position_.reserve(stream.size());
    for (instruction const& i : stream) {
      bool const works = is_part(i.what);
      int const member = works ? 0 : p.groups.member_of(i.group >= 0 ? i.group : i.what.stage, device);
      work_site const site{device, rank, member < 0 ? 0 : member, i.lane, plan.size()};
      bool const is_second = !plan.steps_.empty() && plan.steps_.back().what.overlaps_next;
      step s{.what = i, .is_second = is_second};
      if (i.code == opcode::compute) {
        auto& f = s.does.emplace<frame>();
        f.what = i.what;
        f.site = site;
      } else if (i.code == opcode::send || i.code == opcode::receive) {
        s.does = transfer_call{.peer = i.peer, .what = {i.what, i.to}, .bytes = {}, .site = site};
      } else if (copies_to_or_from_host(i)) {
        s.does = copy_call{.on_device = {}, .on_host = {}, .site = site};
      } else {
        s.does = group_step{{.group = group_of(i), .whole = {}, .shard = {}, .site = site},
                            {.group = i.group, .site = site}};
      }
      // Ports of a pass are consecutive: those it reads, writes, and adds to.
      port const* const first = plan.ports_.data() + plan.ports_.size();
      work_port const* const first_work = plan.work_ports_.data() + plan.work_ports_.size();
      port_counts count;
      operand const* next = p.operands_of(i).begin();
      for_each_operand(shape, device, i, [&](value_key const& v, access how, int) {
        if (next == p.operands_of(i).end())
          throw std::invalid_argument("the instruction " + to_string(i) + " lacks an operand");
        place(s, (next++)->slot, v, how, count);
      });
      if (frame* const f = std::get_if<frame>(&s.does)) {
        f->inputs = {first, count.inputs};
        f->outputs = {f->inputs.data() + count.inputs, count.outputs};
        f->shared_gradients = {f->outputs.data() + count.outputs, count.shared_gradients};
        f->work_inputs = {first_work, plan.work_ports_.data() + plan.work_ports_.size()};
      } else if (i.code == opcode::measure) {
        std::get<group_step>(s.does).parameters.gradients = {first, count.inputs};
      }
      auto& lane = plan.lanes_.at(static_cast<std::size_t>(i.lane));
      plan.position_.push_back(static_cast<int>(lane.size()));
      if (!s.is_second) lane.push_back(plan.size());
      plan.steps_.push_back(std::move(s));
    }
  }

  // Whole values beside sharded ones are equal on all ranks, so each rank measures its part.
  void add_measured(value_key const& v, buffer bytes, element_type element, port_counts& count) {
    if (p.sharding != sharding_level::none && v.kind == slot_kind::weight_gradient) {
      byte_range const part = shard_of(bytes.size(), rank, p.data_ranks, element);
      bytes = bytes.subspan(part.begin, part.size);
    }
    plan.ports_.push_back({bytes, v.of, element});
    ++count.inputs;
  }

  void place(step& s, int number, value_key const& v, access how, port_counts& count) {
    auto const slot = static_cast<std::size_t>(number);
    value_layout const layout = layout_on(p, rank, v, layout_of);
    if (layout.bytes > static_cast<std::size_t>(slots.size[slot]))
      throw std::length_error("device " + std::to_string(device) + ": slot " + std::to_string(number)
                              + " of " + std::to_string(slots.size[slot])
                              + " bytes is too small for the " + name_of(v.kind) + " of "
                              + std::to_string(layout.bytes) + " bytes (" + to_string(s.what) + ")");
    buffer const bytes{(is_on_host(v.kind) ? host_memory : memory) + slots.offset[slot], layout.bytes};
    auto const add_port = [&](int stage, std::size_t& counted) {
      plan.ports_.push_back({bytes, stage, layout.element, v.micro_batch});
      ++counted;
    };
    bool const reads = how == access::read;
    switch (s.what.code) {
      case opcode::compute:
        if (is_part(s.what.what) || v.kind == slot_kind::work)
          return place_work(s, v, reads, bytes, layout.element);
        break;
      case opcode::send:
      case opcode::receive: {
        auto& transfer = std::get<transfer_call>(s.does);
        transfer.bytes = bytes;
        transfer.element = layout.element;
        return;
      }
      case opcode::offload:
      case opcode::reload: {
        auto& copy = std::get<copy_call>(s.does);
        (is_on_host(v.kind) ? copy.on_host : copy.on_device) = bytes;
        return;
      }
      default:
        auto& [collective, parameters] = std::get<group_step>(s.does);
        if (v.kind == slot_kind::scalar)
          parameters.scalar = bytes;
        else if (s.what.code == opcode::measure)
          return add_measured(v, bytes, layout.element, count);
        else if (v.kind != slot_kind::gradient_shard || s.what.code != opcode::reduce_scatter)
          parameters.gradient = bytes;
        (v.kind == slot_kind::gradient_shard && s.what.code == opcode::reduce_scatter
             ? collective.shard
             : collective.whole) = bytes;
        collective.element = layout.element;
        return;
    }
    if (v.kind == slot_kind::activation || v.kind == slot_kind::gradient)
      return add_port(reads ? v.of : v.to, reads ? count.inputs : count.outputs);
    if (v.kind == slot_kind::weight_gradient && v.of >= p.stage_count)
      return add_port(v.of, count.shared_gradients);
    if (buffer* const own = place_in(std::get<frame>(s.does), v.kind, reads)) *own = bytes;
  }

  // Places an operand that a pass has because of work. Inputs come in the order of the edges.
  void place_work(step& s, value_key const& v, bool reads, buffer bytes, element_type element) {
    if (buffer* const own = place_in(std::get<frame>(s.does), v.kind, reads);
        own != nullptr && (!reads || v.kind == slot_kind::micro_gradient)) {
      *own = bytes;
      return;
    }
    for (work_edge const& e : p.work.inputs(s.what.what))
      if (value_for_work(e.from) == v) plan.work_ports_.push_back({bytes, e.from, element});
  }

  collective_group group_of(instruction const& i) const {
    if (i.code == opcode::all_gather || i.code == opcode::reduce_scatter)
      return {group_scope::ranks, device, rank, p.data_ranks};
    if (i.code != opcode::all_reduce) return {};
    auto const holders = static_cast<int>(member_count(p, i.group));
    int const mine = sums_work(i) ? part_of(i.what).part : p.groups.member_of(i.group, device);
    if (!p.spans_ranks(i))
      return {p.data_ranks == 1 ? group_scope::holders : group_scope::holders_of_a_rank, i.group, mine,
              holders};
    int const member =
        i.group == p.groups.everyone() ? rank * holders + mine : mine * p.data_ranks + rank;
    return {group_scope::holders, i.group, member, holders * p.data_ranks};
  }
};

ASHLAR_INLINE device_plan::device_plan(program_view const& p, int rank, int device,
                                       layout_function layout, slot_table const& slots,
                                       std::byte* memory, wait_detail detail, std::byte* host_memory)
    : events_(p, device, detail), lanes_(static_cast<std::size_t>(p.lane_count)) {
  filler{*this, p, layout, slots, memory, host_memory, rank, device}.fill();
}

}  // namespace ashlar
