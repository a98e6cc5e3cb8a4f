#include <ashlar/prove/freeze.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace shapes;

namespace {

constexpr program make() { return one_f_one_b(3, 2) | lower(); }

// A reference to static data is a constant itself.
constexpr auto const& frozen = freeze<make>;
static_assert(frozen.view().device_count == 3);
static_assert(frozen.view().instructions.size() == extent_of(make().view()).instructions);
static_assert(frozen.view().stream(1)[1].code == opcode::receive);
static_assert(&freeze<make> == &frozen);

TEST_CASE("a frozen program equals the one made at run time") {
  program const p = make();
  program_view const a = frozen.view(), b = p.view();
  CHECK((a.device_count == b.device_count && a.stage_count == b.stage_count));
  CHECK((a.micro_batch_count == b.micro_batch_count && a.lane_count == b.lane_count));
  CHECK(std::equal(a.instructions.begin(), a.instructions.end(), b.instructions.begin(),
                   b.instructions.end()));
  CHECK(std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end()));
  CHECK(std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end()));
  CHECK(std::equal(a.stream_begin.begin(), a.stream_begin.end(), b.stream_begin.begin(),
                   b.stream_begin.end()));
  auto const same = [](list_view<int> x, list_view<int> y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  CHECK((same(a.graph.before, b.graph.before) && same(a.graph.after, b.graph.after)));
  CHECK((same(a.where, b.where) && same(a.route, b.route) && a.step == b.step));
  CHECK((same(a.groups.all_holders.begin, b.groups.all_holders.begin)
         && same(a.groups.all_holders.all, b.groups.all_holders.all)));
  CHECK((same(a.groups.all_stages.begin, b.groups.all_stages.begin)
         && same(a.groups.all_stages.all, b.groups.all_stages.all)));
  CHECK(std::equal(a.slot_begin.begin(), a.slot_begin.end(), b.slot_begin.begin(), b.slot_begin.end()));
}

TEST_CASE("the room that a program takes") {
  program const p = make();
  program_extent const e = extent_of(p.view());
  CHECK((e.instructions == p.instructions.size() && e.operands == p.operands.size()));
  CHECK((e.slots == p.slots.size() && e.jobs == 0 && e.work_parts == 0 && e.work_edges == 0));
  // The graph, 3 places, 2 routes, holders (of 3 stages and of everyone), stages of groups, streams and
  // slots.
  std::size_t const graph = p.graph.view().before.size() + p.graph.view().after.size();
  CHECK(e.numbers == graph + 3 + 2 + (5 + 6) + (4 + 3) + 4 + 4);
}

TEST_CASE("a view of frozen data stays, however it was come by") {
  auto const copy = frozen;
  program_view const v = copy.view();
  CHECK(v.instructions.size() == frozen.view().instructions.size());
  CHECK(frozen.view().instructions.data() == freeze<make>.view().instructions.data());
}

// Two lambdas, two programs.
constexpr auto const& one_device = freeze<[] { return one_f_one_b(1, 1) | lower(); }>;
static_assert(one_device.view().instructions.size() == 4);
static_assert(one_device.view().graph.sequence_chunks == 1);

constexpr auto const& in_chunks = freeze<[] {
  return catalog::seq1f1b(devices{1}, 2) | repeat(micro_batches{2}) | squeeze() | lower();
}>;
static_assert(in_chunks.view().graph.sequence_chunks == 2);

}  // namespace
