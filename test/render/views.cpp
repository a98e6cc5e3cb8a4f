// Lazy views: every pass and instruction once, filters that combine, gaps that add up.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/views.hpp>

#include <doctest/doctest.h>
#include <range/v3/algorithm/equal.hpp>
#include <range/v3/numeric/accumulate.hpp>
#include <range/v3/range/conversion.hpp>
#include <range/v3/range/primitives.hpp>

#include <vector>

using namespace ashlar;
using namespace ashlar::views;

namespace {

schedule v_half() { return catalog::find("v-half")->make({devices{4}, micro_batches{8}}); }

}  // namespace

TEST_CASE("all passes, each with its place") {
  schedule const s = v_half();
  std::size_t n = 0;
  for (placed_pass const& p : all_passes(s)) {
    auto const& t = s.order[static_cast<std::size_t>(p.device)][static_cast<std::size_t>(p.index)];
    CHECK(p.what == t.what);
    CHECK(p.end == s.end_of(t, p.device));
    ++n;
  }
  CHECK(n == 3 * 8 * 8);
}

TEST_CASE("filters combine") {
  schedule const s = v_half();
  auto const found = all_passes(s) | of_kind(pass_kind::forward) | of_stage(stage_id{5})
                     | of_micro_batch(micro_batch_id{3}) | ranges::to<std::vector>();
  REQUIRE(found.size() == 1);
  CHECK(found[0].device == s.device_of(found[0].what));

  block const b = catalog::find("v-half")->block_of({devices{4}, micro_batches{8}});
  CHECK(ranges::distance(b.cells | of_stage(stage_id{0})) == 3);
}

TEST_CASE("busy and idle fill the makespan") {
  schedule const s = v_half();
  for (int d = 0; d < s.device_count(); ++d) {
    tick const idle = ranges::accumulate(gaps(s, device_id{d}), tick{0}, {}, &idle_time::length);
    CHECK(idle + busy(s)[static_cast<std::size_t>(d)] == makespan(s));
  }
}

TEST_CASE("instructions by lane and code") {
  program const p = lower(v_half());
  auto const size = [](auto&& range) { return static_cast<std::size_t>(ranges::distance(range)); };
  CHECK(size(all_instructions(p)) == p.instructions.size());
  CHECK(size(all_instructions(p) | of_code(opcode::send))
        == size(all_instructions(p) | of_code(opcode::receive)));
  auto computes = instructions_of(p, device_id{2}) | on_lane(compute_lane) | of_code(opcode::compute);
  for (placed_instruction const i : computes)
    CHECK(p.view().stream(2)[static_cast<std::size_t>(i.index)] == *i);
  CHECK(size(computes) == 48);
}
