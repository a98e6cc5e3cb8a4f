// A program made at compile time, as static data. It lies in read-only memory and needs no work at the
// start.
#pragma once

#include <ashlar/program/program.hpp>

#include <array>
#include <cstddef>

namespace ashlar {

// How much room a program takes.
struct program_extent {
  std::size_t instructions = 0;
  std::size_t operands = 0;
  std::size_t slots = 0;
  std::size_t devices = 0;
  std::size_t groups = 0;
  std::size_t holders = 0;       // of all groups, everyone included
  std::size_t group_stages = 0;  // of all groups
  std::size_t predecessors = 0;  // of the stage graph's tables
  std::size_t successors = 0;
  std::size_t sizes = 0;
  std::size_t places = 0;  // of all routes
  std::size_t micro_batches = 0;
  std::size_t jobs = 0;
  std::size_t work_parts = 0;
  std::size_t work_edges = 0;
};

// The sizes of all tables of a program.
constexpr program_extent extent_of(program const& p) {
  group_view const groups = p.groups.view();
  return {p.instructions.size(),
          p.operands.size(),
          p.slots.size(),
          static_cast<std::size_t>(p.device_count()),
          static_cast<std::size_t>(groups.count()),
          groups.holder.size(),
          groups.stage.size(),
          p.graph.view().before.size(),
          p.graph.view().after.size(),
          p.graph.view().sizes.size(),
          p.where.table().size(),
          p.route.size(),
          p.work.view().jobs.size(),
          p.work.view().parts.size(),
          p.work.view().into.size()};
}

// A program whose tables are arrays of fixed size, so that it may be static data.
template <program_extent Extent>
class frozen_program {
 public:
  // Copies the program, whose extent_of() must be `Extent`.
  constexpr explicit frozen_program(program const& p) : counts_(p.view()) {
    copy(counts_.instructions, instructions_);
    copy(counts_.stream_begin, stream_begin_);
    copy(counts_.operands, operands_);
    copy(counts_.slots, slots_);
    copy(counts_.slot_begin, slot_begin_);
    copy(counts_.groups.holder_begin, holder_begin_);
    copy(counts_.groups.holder, holder_);
    copy(counts_.groups.stage_begin, stage_begin_);
    copy(counts_.groups.stage, stage_);
    copy(counts_.graph.before, before_);
    copy(counts_.graph.after, after_);
    copy(counts_.graph.sizes, sizes_);
    copy(counts_.where, where_);
    copy(counts_.route, route_);
    copy(counts_.work.jobs, jobs_);
    copy(counts_.work.parts, work_parts_);
    copy(counts_.work.into, into_);
    copy(counts_.work.out_of, out_of_);
  }

  // The program, as all functions that read one take it. Refers to this object.
  constexpr program_view view() const {
    program_view v = counts_;
    v.instructions = view_of(instructions_);
    v.stream_begin = view_of(stream_begin_);
    v.operands = view_of(operands_);
    v.slots = view_of(slots_);
    v.slot_begin = view_of(slot_begin_);
    v.graph = {view_of(before_), view_of(after_), view_of(sizes_), counts_.graph.sequence_chunks};
    v.where = view_of(where_);
    v.route = view_of(route_);
    v.work = {view_of(jobs_), view_of(work_parts_), view_of(into_), view_of(out_of_)};
    v.groups = {view_of(holder_begin_), view_of(holder_), view_of(stage_begin_), view_of(stage_)};
    return v;
  }

 private:
  // The views that are taken out must not outlive p; view() makes them anew.
  template <class View, class Array>
  static constexpr void copy(View& from, Array& to) {
    std::size_t next = 0;
    for (auto const& element : from) to[next++] = element;
    from = {};
  }

  program_view counts_;
  std::array<instruction, Extent.instructions> instructions_{};
  std::array<int, Extent.devices + 1> stream_begin_{};
  std::array<operand, Extent.operands> operands_{};
  std::array<slot_kind, Extent.slots> slots_{};
  std::array<int, Extent.devices + 1> slot_begin_{};
  std::array<int, Extent.groups + 2> holder_begin_{};
  std::array<int, Extent.holders> holder_{};
  std::array<int, Extent.groups + 1> stage_begin_{};
  std::array<int, Extent.group_stages> stage_{};
  std::array<int, Extent.predecessors> before_{};
  std::array<int, Extent.successors> after_{};
  std::array<int, Extent.sizes> sizes_{};
  std::array<int, Extent.places> where_{};
  std::array<int, Extent.micro_batches> route_{};
  std::array<work_view::job, Extent.jobs> jobs_{};
  std::array<work_part, Extent.work_parts> work_parts_{};
  std::array<work_edge, Extent.work_edges> into_{}, out_of_{};
};

namespace freeze_detail {
template <auto Make>
inline constexpr program_extent extent = [] { return extent_of(Make()); }();
}  // namespace freeze_detail

// freeze<[] { return lower(...); }>: the program that the captureless lambda returns. Evaluates it twice
// while compiling: once for its size, once for its content.
template <auto Make>
inline constexpr frozen_program<freeze_detail::extent<Make>> freeze{Make()};

}  // namespace ashlar
