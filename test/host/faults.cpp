// Each mistake that an engine might make is found on devices that do everything late.
#include "../adversary/late_machine.hpp"
#include "../adversary/sure_order.hpp"
#include "../adversary/victims.hpp"
#include "random_cases.hpp"
#include <ashlar/catalog/entries.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/prove/prove.hpp>
#include <ashlar/schedule/residency_rules.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace ashlar;

namespace {

using adversary::detail_for;

// Whether two steps of a program go wrong, with all their ranks.
bool goes_wrong(program const& p, adversary::options o, wait_detail detail) {
  o.threads = 0;  // what goes wrong is no race
  if (p.data_ranks > 1 || p.step != optimizer_step::none) {
    adversary::late_steps steps;
    return !conformance::ranks_conform(
                {{"mutant", p}},
                [&](program const& q, std::vector<conformance::sharded_network*> const& ranks) {
                  steps.run(q, ranks, adversary::way::issue, o, detail);
                })
                .ok();
  }
  return !conformance::conforms({{"mutant", p}}, [&](program const& q, conformance::network& w) {
            adversary::run_late<adversary::late>(q, std::vector{&w}, adversary::way::issue, o, detail,
                                                 2);
          }).ok();
}

// Tries some seeds. A rendezvous may bring about on other devices what a wait is for; then it takes a
// buffer.
bool can_go_wrong(program const& p, adversary::options o, wait_detail detail,
                  std::uint64_t seeds = 100) {
  bool wrong = false;
  for (o.seed = 1; o.seed <= seeds && !wrong; ++o.seed) {
    o.buffered = o.seed % 2 == 0;
    wrong = goes_wrong(p, o, detail);
  }
  return wrong;
}

// The program with a release right before the last pass that reads the weights, or with a gather right
// after the first one.
program with_weights_away(program p, int moved) {
  auto const at = p.instructions.begin() + moved;
  bool const gathers = at->code == opcode::all_gather;
  auto const reads = [stage = at->group](instruction const& i) {
    return i.code == opcode::compute && i.what.kind != pass_kind::work && i.what.stage == stage;
  };
  if (gathers) {
    std::rotate(at, at + 1, std::find_if(at, p.instructions.end(), reads) + 1);
  } else {
    auto const last = std::find_if(std::make_reverse_iterator(at), p.instructions.rend(), reads);
    std::rotate(last.base() - 1, at, at + 1);
  }
  return p;
}

}  // namespace

TEST_CASE("adversary: a hazard that is dropped is found, whichever it is") {
  int checked = 0;
  for (conformance::sample_program const& v : listed_cases(adversary::victims()))
    for (bool in_order : {true, false}) {
      CAPTURE(v.name);
      CAPTURE(in_order);
      wait_detail const detail = detail_for(in_order);
      adversary::sure_order const order(v.program, in_order, detail);
      CHECK(order.keeps_hazards());
      CHECK_FALSE(can_go_wrong(v.program, {.in_order = in_order}, detail, 20));
      for (int which = 0; which < order.wait_count(); ++which) {
        if (!is_run(which)) continue;
        CAPTURE(which);
        bool const is_implied = order.keeps_hazards([&](int number, int) { return number == which; });
        adversary::options o{
            .in_order = in_order, .what = adversary::fault::wait_dropped, .which = which};
        CHECK(can_go_wrong(v.program, o, detail, 20) == !is_implied);
        checked += !is_implied;
      }
    }
  CHECK(checked > random_cases(random_cases(4000)));
}

TEST_CASE("adversary: so are hazards within a lane, where lanes are not in order") {
  int checked = 0;
  for (conformance::sample_program const& v : adversary::victims()) {
    wait_detail const detail = wait_detail::last_of_a_lane;
    bool const keeps = adversary::sure_order(v.program, false, detail).keeps_hazards();
    CAPTURE(v.name);
    CHECK(can_go_wrong(v.program, {.in_order = false}, detail) == !keeps);
    checked += !keeps;
  }
  CHECK(checked > 20);
}

TEST_CASE("adversary: so are sends that are done when posted") {
  int checked = 0;
  for (conformance::sample_program const& v : listed_cases(adversary::victims()))
    for (bool in_order : {true, false}) {
      wait_detail const detail = detail_for(in_order);
      bool const keeps =
          adversary::sure_order(v.program, in_order, detail).keeps_hazards([&](int, int on) {
            return v.program.instructions[static_cast<std::size_t>(on)].code == opcode::send;
          });
      adversary::options const o{.in_order = in_order, .what = adversary::fault::send_done_when_posted};
      CAPTURE(v.name);
      CAPTURE(in_order);
      CHECK(can_go_wrong(v.program, o, detail) == !keeps);
      checked += !keeps;
    }
  CHECK(checked > random_cases(40));
}

TEST_CASE("adversary: so are events that are recorded late") {
  for (conformance::sample_program const& v : adversary::victims())
    for (bool in_order : {true, false}) {
      CAPTURE(v.name);
      CAPTURE(in_order);
      adversary::options const o{.in_order = in_order, .what = adversary::fault::event_recorded_late};
      CHECK(can_go_wrong(v.program, o, detail_for(in_order)));
    }
}

TEST_CASE("adversary: so are sums that only the first step begins with zeros") {
  for (conformance::sample_program const& v : adversary::victims()) {
    CAPTURE(v.name);
    bool const sums = v.program.mode == execution_mode::training;
    CHECK(goes_wrong(v.program, {.what = adversary::fault::cleared_once}, wait_detail::last_of_a_lane)
          == sums);
  }
}

TEST_CASE("adversary: so are weights that are read where the plan of residency has them away") {
  int checked = 0;
  for (char const* name : {"depth-first", "zb-h1", "v-half"})
    for (int const stages : {1, 2})
      for (bool const window : {false, true}) {
        CAPTURE(name);
        schedule const s = catalog::find(name)->make({devices{2}, micro_batches{4}});
        program const p = lower(
            s, {.data_ranks = 2,
                .sharding = sharding_level::weights,
                .weights = planned_residency(
                    s, {.stages = stages, .lookahead = stages, .passes_ahead = 1, .window = window})});
        CHECK(check(p).ok());
        CHECK_FALSE(goes_wrong(p, {}, wait_detail::all));
        for (int i = 0; i < static_cast<int>(p.instructions.size()); ++i) {
          opcode const code = p.instructions[static_cast<std::size_t>(i)].code;
          if (code != opcode::all_gather && code != opcode::release) continue;
          CAPTURE(i);
          program const wrong = with_weights_away(p, i);
          CHECK_FALSE(check(wrong).ok());
          CHECK(goes_wrong(wrong, {}, wait_detail::all));
          ++checked;
        }
      }
  CHECK(checked > 100);
}
