#include <ashlar/lower/collectives.hpp>
// The header above comes first: it needs nothing before it.
#include "random_order.hpp"
#include <ashlar/lower/direct_mapped.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

using namespace ashlar;

namespace {

using placed_step = std::tuple<int, tick, opcode, int, int>;  // before, time, code, stage, buffer

// A device's passes, and the stays of weights there.
struct device_case {
  dynamic_array<timed_pass> passes;
  std::vector<weight_stay> stays;

  int size() const { return static_cast<int>(passes.size()); }
  // Whether a place is between two passes that overlap: those of a pair, if nothing is gathered there.
  bool is_within(int place) const {
    if (place == 0 || place >= size() || nth(passes, place - 1).slot != nth(passes, place).slot)
      return false;
    return std::none_of(stays.begin(), stays.end(),
                        [&](weight_stay const& stay) { return stay.fetch == place; });
  }
  // When the pass there starts.
  tick start(int place) const { return nth(passes, place).start; }
};

// The first place behind a pass that is not within a pair, at the pass's end, or where the next starts.
placed_step behind(schedule const& s, device_case const& on, int last, opcode code, int stage) {
  int place = last + 1;
  while (on.is_within(place)) ++place;
  tick const end = s.end_of(nth(on.passes, last), 0);
  return {place, place < on.size() ? std::min(end, on.start(place)) : end, code, stage, 0};
}

// Weights go and come as the stays say. Each run of weight passes of a stage in a buffer begins with a
// clear and ends with a scatter; the last runs of late stages end behind all passes.
std::vector<placed_step> expected_steps(schedule const& s, device_case const& on, int buffers,
                                        std::vector<bool> const& late) {
  std::vector<placed_step> all;
  for (weight_stay const& stay : on.stays) {
    all.emplace_back(stay.fetch, on.start(stay.fetch), opcode::all_gather, stay.stage, stay.buffer);
    all.push_back(behind(s, on, stay.last, opcode::release, stay.stage));
  }
  for (int buffer = 0; buffer < buffers; ++buffer) {
    std::vector<int> users;
    for (int i = 0; i < on.size(); ++i)
      if (pass const what = nth(on.passes, i).what;
          !is_part(what) && gives_weight_gradient(what.kind) && what.stage % buffers == buffer)
        users.push_back(i);
    auto const stage_of = [&](std::size_t i) { return nth(on.passes, users[i]).what.stage; };
    for (std::size_t i = 0; i < users.size(); ++i) {
      int const stage = stage_of(i);
      if (i == 0 || stage_of(i - 1) != stage) {
        int place = users[i];
        while (on.is_within(place)) --place;
        all.emplace_back(place, on.start(place), opcode::clear, stage, 0);
      }
      if (i + 1 < users.size() && stage_of(i + 1) == stage) continue;
      if (i + 1 == users.size() && nth(late, stage))
        all.emplace_back(on.size(), max_tick, opcode::reduce_scatter, stage, 0);
      else
        all.push_back(behind(s, on, users[i], opcode::reduce_scatter, stage));
    }
  }
  return all;
}

TEST_CASE("collectives: each stands where its use begins or ends, and not between passes that overlap") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    random_case::dice d(seed);
    int const stage_count = d.between(1, 4), weights = d.between(1, 3), buffers = d.between(1, 3);
    schedule const s = random_case::random_order(d, stage_count, d.between(1, 12));
    device_case on{numbered_passes(s.order[0]), {}};
    on.stays = direct_mapped_stays(
        view_of(on.passes), weights, [&](int stage) { return stage % weights; }, d.between(0, 3));
    std::vector<bool> late;
    for (int stage = 0; stage < stage_count; ++stage) late.push_back(d.percent(50));
    collective_order const made = collective_order_builder(s, 0, view_of(on.passes))
                                      .build(
                                          on.stays, buffers, [&](int stage) { return stage % buffers; },
                                          [&](int stage) { return nth(late, stage); });
    for (int i = 0; i < on.size(); ++i)
      CHECK((nth(made.split, i) != 0)
            == (i + 1 < on.size() && nth(on.passes, i).slot == nth(on.passes, i + 1).slot
                && !on.is_within(i + 1)));
    std::vector<placed_step> found, known = expected_steps(s, on, buffers, late);
    for (collective const& c : made.steps)
      found.emplace_back(c.before, c.time, c.code, c.stage, c.buffer);
    auto const ends_use = [](opcode code) {
      return code == opcode::release || code == opcode::reduce_scatter;
    };
    // In the order of the stream; at one place and time, what ends a use comes first.
    for (std::size_t i = 1; i < made.steps.size(); ++i) {
      collective const &a = made.steps[i - 1], &b = made.steps[i];
      CHECK(std::make_tuple(a.before, a.time, !ends_use(a.code))
            <= std::make_tuple(b.before, b.time, !ends_use(b.code)));
    }
    std::sort(found.begin(), found.end());
    std::sort(known.begin(), known.end());
    CHECK(found == known);
  }
}

}  // namespace
