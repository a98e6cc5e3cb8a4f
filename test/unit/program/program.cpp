#include <ashlar/program/program.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("a view walks over streams, slots and operands") {
  program const p = one_f_one_b(2, 2) | lower();
  program_view const v = p.view();
  CHECK((v.device_count == 2 && v.stage_count == 2 && v.micro_batch_count == 2));
  CHECK(v.lane_count == p.collective_lane() + 1);
  CHECK(v.stream(0).size() + v.stream(1).size() == p.instructions.size());
  CHECK(v.stream(1).begin() == v.stream(0).end());
  CHECK(v.slots_of(0).size() + v.slots_of(1).size() == p.slots.size());
  std::size_t operands = 0;
  for (int d = 0; d < 2; ++d)
    for (instruction const& i : v.stream(d)) operands += v.operands_of(i).size();
  CHECK(operands == p.operands.size());
}

TEST_CASE("streams by index, and whose an instruction is") {
  program p = one_f_one_b(3, 2) | lower();
  // A device in the middle without instructions.
  p.stream_begin[2] = p.stream_begin[1];
  program_view const v = p.view();
  for (int d = 0; d < 3; ++d) {
    CHECK((stream_begin(p, d) == stream_begin(v, d) && stream_end(p, d) == stream_end(v, d)));
    CHECK(v.stream(d).size() == static_cast<std::size_t>(stream_end(v, d) - stream_begin(v, d)));
    for (int i = stream_begin(v, d); i < stream_end(v, d); ++i) {
      CHECK(device_of_instruction(v, i) == d);
      CHECK(device_of_instruction(p, i) == d);
    }
  }
}

TEST_CASE("every table of a view is visited") {
  program const p = one_f_one_b(3, 2) | lower();
  program_view v = p.view();
  for_each_table(v, [](auto& table) { table = {}; });
  CHECK((v.instructions.empty() && v.stream_begin.empty() && v.operands.empty() && v.slots.empty()));
  CHECK((v.slot_begin.empty() && v.where.empty() && v.route.empty() && v.graph.before.empty()));
  CHECK((v.graph.after.empty() && v.graph.sizes.empty() && v.groups.all_holders.all.empty()));
  CHECK((v.groups.all_holders.begin.empty() && v.groups.all_stages.all.empty()
         && v.groups.all_stages.begin.empty()));
  CHECK((v.work.jobs.empty() && v.work.parts.empty() && v.work.into.empty()));
  CHECK(v.work.out_of.empty());
  CHECK(v.device_count == 3);
}

TEST_CASE("one transfer lane, one per peer or two, or one per kind of value") {
  program p = one_f_one_b(3, 1) | lower();
  for (opcode code : {opcode::send, opcode::receive})
    CHECK((p.transfer_lane(0, code, F) == first_transfer_lane
           && p.transfer_lane(2, code, I) == first_transfer_lane));
  CHECK(p.collective_lane() == first_transfer_lane + 1);
  p.lanes = transfer_lanes::one_a_peer;
  for (opcode code : {opcode::send, opcode::receive})
    CHECK(p.transfer_lane(2, code, F) == first_transfer_lane + 2);
  CHECK(p.collective_lane() == first_transfer_lane + 3);
  p.lanes = transfer_lanes::one_a_direction;
  CHECK(p.transfer_lane(2, opcode::send, F) == first_transfer_lane + 4);
  CHECK(p.transfer_lane(2, opcode::receive, I) == first_transfer_lane + 5);
  CHECK(p.collective_lane() == first_transfer_lane + 6);
  p.lanes = transfer_lanes::one_a_kind;
  for (opcode code : {opcode::send, opcode::receive}) {
    CHECK(p.transfer_lane(2, code, F) == first_transfer_lane);
    CHECK(p.transfer_lane(2, code, I) == first_transfer_lane + 1);
    CHECK(p.transfer_lane(0, code, B) == first_transfer_lane + 1);
  }
  CHECK(p.collective_lane() == first_transfer_lane + 2);
}

TEST_CASE("slots by kind") {
  program const p = one_f_one_b(3, 4) | lower();
  for (int d = 0; d < 3; ++d) {
    CHECK(count_slots(p.view(), d, slot_kind::weight_gradient) == 1);
    CHECK(count_slots(p.view(), d, slot_kind::stash) == 3 - d);
    CHECK(count_slots(p.view(), d, slot_kind::checkpoint) == 0);
  }
  site const s = site_of(p.instructions[1], 0, 1);
  CHECK((s.device == 0 && s.index == 1 && s.what == pass{F, 0, 0}));
}

TEST_CASE("copies have the last two lanes, and what computes the first") {
  program p = one_f_one_b(2, 1) | lower();
  CHECK(p.lane_count() == p.collective_lane() + 1);
  p.offloads = true;
  CHECK((p.offload_lane() == p.collective_lane() + 1 && p.reload_lane() == p.collective_lane() + 2));
  CHECK(p.lane_count() == p.collective_lane() + 3);
  instruction i;
  i.group = 0;
  auto const lane_of = [&](opcode code) {
    i.code = code;
    return p.lane_of(i);
  };
  for (opcode code : {opcode::compute, opcode::measure, opcode::optimize, opcode::clear})
    CHECK(lane_of(code) == compute_lane);
  for (opcode code : {opcode::all_gather, opcode::release, opcode::reduce_scatter})
    CHECK(lane_of(code) == p.collective_lane());
  CHECK((lane_of(opcode::offload) == p.offload_lane() && lane_of(opcode::reload) == p.reload_lane()));
  CHECK(lane_of(opcode::all_reduce) == compute_lane);  // of one holder
  p.data_ranks = 2;
  CHECK(lane_of(opcode::all_reduce) == p.collective_lane());
  i.subject = slot_kind::gradient_shard;
  CHECK(lane_of(opcode::clear) == p.collective_lane());
  CHECK((program_view{}.device_count == 0 && program_view{}.stage_count == 0));
}

TEST_CASE("what goes over the data-parallel ranks") {
  program const p = lower(one_f_one_b(2, 1), {.data_ranks = 2, .sharding = sharding_level::gradients});
  auto const spans = [&](program_view const& v, opcode code, slot_kind subject) {
    return v.spans_ranks({.code = code, .subject = subject, .group = 0});
  };
  program_view v = p.view();
  CHECK((spans(v, opcode::all_gather, slot_kind::weight) && spans(v, opcode::reduce_scatter, {})));
  CHECK(spans(v, opcode::all_reduce, slot_kind::weight_gradient));
  CHECK_FALSE(spans(v, opcode::all_reduce, slot_kind::gradient_shard));
  CHECK(spans(v, opcode::all_reduce, slot_kind::scalar));  // each rank has a part of the norm
  // Each of the last two jobs sums what one of the first two made.
  work_graph const sums({{.parts = {{0, 1}}},
                         {.parts = {{0, 1}}},
                         {.parts = {{0, 1}}, .does = all_reduce_job{}},
                         {.parts = {{0, 1}}, .does = all_reduce_job{.over_ranks = true}}},
                        {{{X, 0, 0}, {X, 2, 0}}, {{X, 1, 0}, {X, 3, 0}}});
  v.work = sums.view();
  auto const sum_spans = [&v](int job) {
    return v.spans_ranks(
        {.code = opcode::all_reduce, .subject = slot_kind::work, .what = part_id{job, 0}});
  };
  CHECK((!sum_spans(2) && sum_spans(3)));
  v.sharding = sharding_level::none;
  CHECK_FALSE(spans(v, opcode::all_reduce, slot_kind::scalar));
  v.data_ranks = 1;
  CHECK_FALSE(spans(v, opcode::all_gather, slot_kind::weight));
  CHECK_FALSE(spans(v, opcode::all_reduce, slot_kind::weight_gradient));
}

TEST_CASE("all-reduces of parameter groups, of everyone and of jobs are numbered in that order") {
  schedule s = one_f_one_b(2, 2);
  for (pass const what : {pass{X, 0, 0}, pass{X, 0, 1}, pass{X, 1, 0}}) s.order[0].push_back({what, 0});
  s.work = curvature();
  program const p = squeeze(s) | lower();
  CHECK((all_reduce_count(p) == 2 + 1 + 2 && group_of_job(p, 1) == 4));
  CHECK((member_count(p, 0) == 1 && member_count(p, group_of_job(p, 0)) == 2));
  CHECK(member_count(p, group_of_job(p, 1)) == 1);
}

}  // namespace
