// The engine on devices that do everything late: all three ways to drive a plan give the bits, and each
// mistake of an engine is found.
#include "../adversary/late_machine.hpp"
#include "random_cases.hpp"
#include <ashlar/conformance/conforms.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;

namespace {

using adversary::late;
using adversary::late_ranks;
using adversary::late_steps;
using adversary::run_late;
using adversary::way;

// What work keeps from step to step makes the second step another one than the first.
bool keeps_state(program const& p) {
  for (work_view::job const& j : p.work.view().jobs)
    if (j.keeps_state) return true;
  return false;
}

// Every n-th, another selection for each way. There are three of each program, with different lanes:
// with a step that has no divisor in common with nine, each way meets all kinds, and of the programs of
// one schedule each meets another way.
std::vector<conformance::sample_program> some(std::vector<conformance::sample_program> all,
                                              std::size_t first, std::size_t step) {
  std::vector<conformance::sample_program> few;
  for (std::size_t i = first; i < all.size(); i += step) few.push_back(std::move(all[i]));
  return few;
}

constexpr std::size_t step_of_selections = 8;

struct setting {
  way how;
  bool in_order;
  bool buffered;
};
constexpr setting settings[] = {
    {way::issue, true, false}, {way::issue, true, true},  {way::issue, false, false},
    {way::issue, false, true}, {way::poll, true, false},  {way::poll, false, false},
    {way::poll, false, true},  {way::lanes, true, false}, {way::lanes, true, true}};

wait_detail detail_for(bool in_order) {
  return in_order ? wait_detail::last_of_a_lane : wait_detail::all;
}

// Whether two steps of a program go wrong, with all their ranks.
bool goes_wrong(program const& p, adversary::options o, wait_detail detail) {
  o.threads = 0;  // what goes wrong is no race
  if (p.data_ranks > 1 || p.step != optimizer_step::none) {
    late_steps steps;
    return !conformance::ranks_conform(
                {{"mutant", p}},
                [&](program const& q, std::vector<conformance::sharded_network*> const& ranks) {
                  steps.run(q, ranks, way::issue, o, detail);
                })
                .ok();
  }
  return !conformance::conforms({{"mutant", p}}, [&](program const& q, conformance::network& w) {
            run_late<late>(q, std::vector{&w}, way::issue, o, detail, 2);
          }).ok();
}

program small(char const* name) {
  return catalog::find(name)->make({devices{3}, micro_batches{5}}) | lower();
}

// A wait of an instruction for another; indices into the program.
struct wait {
  int of, on;
};

// All waits of a program, in the order in which they are issued.
std::vector<wait> all_waits(program const& p, wait_detail detail) {
  std::vector<wait> all;
  std::vector<event_table> events;
  for (int d = 0; d < p.device_count(); ++d) events.emplace_back(p.view(), d, detail);
  for (int const i : issue_order(p.view())) {
    std::size_t d = 0;
    while (p.stream_begin[d + 1] <= i) ++d;
    for (int const on : events[d].waits_of(i - p.stream_begin[d]))
      all.push_back({i, p.stream_begin[d] + on});
  }
  return all;
}

// Whether other waits, and what other devices wait for, bring about what a wait is for.
bool is_implied(program const& p, std::vector<wait> const& all, wait dropped, bool in_order) {
  std::size_t const n = p.instructions.size();
  std::vector<std::vector<std::size_t>> after(2 * n);  // of the start and the end of each instruction
  auto const start = [](int i) { return 2 * static_cast<std::size_t>(i); };
  auto const end = [](int i) { return 2 * static_cast<std::size_t>(i) + 1; };
  for (wait const& w : all)
    if (w.of != dropped.of || w.on != dropped.on) after[start(w.of)].push_back(end(w.on));
  for (int d = 0; d < p.device_count(); ++d) {
    std::vector<int> before(static_cast<std::size_t>(p.view().lane_count), -1);
    for (int i = p.stream_begin[static_cast<std::size_t>(d)];
         i < p.stream_begin[static_cast<std::size_t>(d) + 1]; ++i) {
      int& last = before[static_cast<std::size_t>(p.instructions[static_cast<std::size_t>(i)].lane)];
      after[end(i)].push_back(start(i));
      if (last >= 0) after[start(i)].push_back(in_order ? end(last) : start(last));
      last = i;
    }
  }
  std::vector<int> const order = issue_order(p.view());
  for (std::size_t k = 1; k < order.size(); ++k)
    if (p.instructions[static_cast<std::size_t>(order[k])].code == opcode::receive)
      after[end(order[k])].push_back(end(order[k - 1]));
  std::vector<char> seen(2 * n, 0);
  // What is received is written when it comes.
  bool const comes = p.instructions[static_cast<std::size_t>(dropped.of)].code == opcode::receive;
  std::vector<std::size_t> todo{comes ? end(dropped.of) : start(dropped.of)};
  while (!todo.empty()) {
    std::size_t const at = todo.back();
    todo.pop_back();
    if (at == end(dropped.on)) return true;
    for (std::size_t next : after[at])
      if (std::exchange(seen[next], 1) == 0) todo.push_back(next);
  }
  return false;
}

}  // namespace

TEST_CASE("adversary: all programs pass, however they are driven") {
  std::uint64_t seed = 1;
  std::size_t first = 0;
  for (setting const& s : settings) {
    conformance::report const r = conformance::conforms(
        some(listed_cases(conformance::sample_programs()), first++, step_of_selections),
        [&](program const& p, conformance::network& w) {
          run_late<late>(p, std::vector{&w}, s.how,
                         {.in_order = s.in_order, .buffered = s.buffered, .seed = seed++},
                         detail_for(s.in_order), keeps_state(p) ? 1 : 2);
        });
    CHECK(r.programs > random_cases(12));
    for (std::string const& failure : r.failures) FAIL_CHECK(failure);
  }
}

TEST_CASE("adversary: so do those of data-parallel ranks") {
  std::uint64_t seed = 1;
  std::size_t first = 0;
  for (setting const& s : settings) {
    late_steps steps;
    conformance::report const r = conformance::ranks_conform(
        some(listed_cases(conformance::programs_of_ranks()), first++, step_of_selections),
        [&](program const& p, std::vector<conformance::sharded_network*> const& ranks) {
          steps.run(p, ranks, s.how, {.in_order = s.in_order, .buffered = s.buffered, .seed = seed++},
                    detail_for(s.in_order));
        });
    CHECK(r.programs > random_cases(8));
    for (std::string const& failure : r.failures) FAIL_CHECK(failure);
  }
}

TEST_CASE("adversary: a hazard that is dropped is found, whichever it is") {
  int checked = 0;
  for (char const* name : {"1f1b", "zb-h1", "v-half", "seq1f1b"})
    for (bool in_order : {true, false}) {
      program const p = small(name);
      wait_detail const detail = detail_for(in_order);
      std::vector<wait> const all = all_waits(p, detail);
      CHECK_FALSE(goes_wrong(p, {.in_order = in_order}, detail));
      for (std::size_t which = 0; which < all.size(); ++which) {
        bool found = false;
        // A rendezvous may bring about on other devices what a wait is for; then it takes a buffer.
        for (std::uint64_t seed = 1; seed <= 20 && !found; ++seed)
          found = goes_wrong(p,
                             {.in_order = in_order,
                              .buffered = seed % 2 == 0,
                              .seed = seed,
                              .what = adversary::fault::wait_dropped,
                              .which = static_cast<int>(which)},
                             detail);
        CAPTURE(name);
        CAPTURE(in_order);
        CAPTURE(which);
        bool const implied = is_implied(p, all, all[which], in_order);
        CHECK(found == !implied);
        checked += !implied;
      }
    }
  CHECK(checked > 400);
}

// Chains of small passes, one whose ranks share all, with parameters in common, and one with work and a
// norm.
std::vector<conformance::sample_program> victims() {
  std::vector<conformance::sample_program> all;
  for (char const* name : {"1f1b", "zb-h1", "v-half", "seq1f1b"}) all.push_back({name, small(name)});
  schedule const s = catalog::find("v-half")->make({devices{3}, micro_batches{4}});
  all.push_back({"sharded", lower(s, {.data_ranks = 2,
                                      .sharding = sharding_level::full,
                                      .shared_parameters = {{0, s.stage_count() - 1}}})});
  all.push_back({"work and a norm", lower(conformance::with_random_work(s, 2, 4, false),
                                          {.data_ranks = 2, .step = optimizer_step::after_norm})});
  return all;
}

TEST_CASE("adversary: so are hazards within a lane, where lanes are not in order") {
  for (conformance::sample_program const& v : victims()) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
      found += goes_wrong(v.program, {.in_order = false, .seed = seed}, wait_detail::last_of_a_lane);
    CAPTURE(v.name);
    CHECK(found == 10);
  }
}

TEST_CASE("adversary: so are events that are recorded late, and sends that are done when posted") {
  for (conformance::sample_program const& v : victims())
    for (auto what : {adversary::fault::event_recorded_late, adversary::fault::send_done_when_posted})
      for (bool in_order : {true, false}) {
        int found = 0;
        for (std::uint64_t seed = 1; seed <= 10; ++seed)
          found += goes_wrong(v.program, {.in_order = in_order, .seed = seed, .what = what},
                              detail_for(in_order));
        CAPTURE(v.name);
        CAPTURE(static_cast<int>(what));
        CHECK(found == 10);
      }
}

TEST_CASE("adversary: so are sums that only the first step begins with zeros") {
  for (conformance::sample_program const& v : victims()) {
    CAPTURE(v.name);
    CHECK_FALSE(goes_wrong(v.program, {}, wait_detail::last_of_a_lane));
    CHECK(goes_wrong(v.program, {.what = adversary::fault::cleared_once}, wait_detail::last_of_a_lane));
  }
}
