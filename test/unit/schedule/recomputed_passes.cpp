#include <ashlar/schedule/recomputed_passes.hpp>
// The header above comes first: it needs nothing before it.
#include "catalog_cases.hpp"
#include "random.hpp"
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/check/check.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/schedule/metrics.hpp>

#include <algorithm>
#include <vector>

using namespace shapes;
using random_case::dice;

namespace {

std::vector<pass> some_forwards(dice& d, schedule const& s, int percent) {
  std::vector<pass> found;
  for (int stage = 0; stage < s.stage_count(); ++stage)
    for (int k = 0; k < s.micro_batch_count(); ++k)
      if (d.percent(percent)) found.push_back({F, stage, k});
  return found;
}

bool is_among(std::vector<pass> const& all, pass const& what) {
  return std::find(all.begin(), all.end(), pass{F, what.stage, what.micro_batch}) != all.end();
}

// The most bytes that a device holds, counted by itself.
byte_count peak_of(std::vector<time_slot> const& order, std::vector<pass> const& again, byte_count stash,
                   byte_count checkpoint) {
  byte_count held = 0, peak = 0;
  for (timed_pass const t : each_pass(order)) {
    bool const twice = is_among(again, t.what);
    if (t.what.kind == F) held += twice ? checkpoint : stash;
    if (t.what.kind == R) held += stash - checkpoint;
    peak = std::max(peak, held);
    if (t.what.kind == B || t.what.kind == W) held -= stash;
  }
  return peak;
}

TEST_CASE("some forwards once more: valid, and what is held is counted by micro-batch") {
  dice d(1);
  int fewer = 0;
  for (catalog_case const& c : catalog_cases({3, 4}, {4, 8})) {
    schedule const s = c.schedule();
    if (s.mode == execution_mode::inference || c.is("1f1b-recompute")) continue;
    CAPTURE(c);
    std::vector<pass> const again = some_forwards(d, s, 40);
    schedule const t = recompute_passes(s, again);
    REQUIRE(check(t).ok());
    int count = 0;
    for (auto const& order : t.order)
      for (timed_pass const p : each_pass(order)) {
        if (p.what.kind != R) continue;
        CHECK(is_among(again, p.what));
        ++count;
      }
    CHECK(count == static_cast<int>(again.size()));
    memory_model model;
    model.stages[0] = {.checkpoint = 3, .stash = 20};
    memory_model const of_each = memory_of_recomputed(t, model);
    std::vector<byte_count> const peaks = peak_memory(t, of_each);
    for (std::size_t device = 0; device < peaks.size(); ++device)
      CHECK(peaks[device] == peak_of(t.order[device], again, 20, 3));
    program const p = lower(t);
    CHECK(check(p).ok());
    for (int device = 0; device < p.device_count(); ++device)
      if (count_slots(p.view(), device, slot_kind::stash)
          < count_slots(lower(s).view(), device, slot_kind::stash))
        ++fewer;
  }
  CHECK(fewer > 20);
}

TEST_CASE("all forwards of some stages are what recompute() runs again") {
  schedule const s = split_backward(one_f_one_b(3, 5));
  std::vector<pass> all;
  for (int stage : {0, 2})
    for (int k = 0; k < 5; ++k) all.push_back({F, stage, k});
  CHECK(recompute_passes(s, all) == recompute(s, {0, 2}));
  CHECK(recompute_passes(s, {}) == squeeze(s));
  memory_model model;
  model.stages = {{.stash = 4}, {.stash = 5}, {.checkpoint = 1, .stash = 6}};
  memory_model const of_each = memory_of_recomputed(recompute(s, {0, 2}), model);
  for (int k = 0; k < 5; ++k)
    for (int stage = 0; stage < 3; ++stage) CHECK(of_each.of(stage, k) == model.of(stage));
  CHECK(memory_of_recomputed(s, model).of(2, 3).checkpoint == stage_memory::all);
}

TEST_CASE("what cannot be recomputed") {
  schedule const s = one_f_one_b(2, 3);
  for (pass const wrong : {pass{F, 2, 0}, pass{F, -1, 0}, pass{F, 0, 3}, pass{F, 0, -1}, pass{B, 0, 0}})
    CHECK_BREAKS(every_pass_is_known, recompute_passes(s, {wrong}));
  CHECK_BREAKS(no_pass_is_doubled, recompute_passes(s, {{F, 0, 1}, {F, 0, 1}}));
  CHECK_BREAKS(no_pass_is_doubled, recompute_passes(recompute(s, {0}), {{F, 0, 1}}));
  memory_model wrong;
  wrong.stages.resize(3);
  CHECK_BREAKS(tables_agree, memory_of_recomputed(s, wrong));
}

}  // namespace
