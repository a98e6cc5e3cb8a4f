// The engine on devices that do everything late: all three ways to drive a plan give the bits.
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

using adversary::detail_for;
using adversary::late;
using adversary::late_steps;
using adversary::run_late;
using adversary::way;

// Whether work keeps state from step to step, so that the second step differs from the first.
bool keeps_state(program const& p) {
  for (int job = 0; job < p.work.job_count(); ++job)
    if (p.work.view().uses_state(job)) return true;
  return false;
}

// Takes every n-th, another selection for each way. There are three of each program, with different
// lanes: with a step that has no divisor in common with nine, each way meets all kinds, and of the
// programs of one schedule each meets another way.
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

TEST_CASE("adversary: so do those that offload, whose copies end as late as they may") {
  std::uint64_t seed = 1;
  std::size_t first = 0;
  for (setting const& s : settings) {
    conformance::report const r = conformance::conforms(
        some(listed_cases(conformance::programs_that_offload()), first++, 2 * step_of_selections + 1),
        [&](program const& p, conformance::network& w) {
          run_late<late>(p, std::vector{&w}, s.how,
                         {.in_order = s.in_order, .buffered = s.buffered, .seed = seed++},
                         detail_for(s.in_order), 2);
        });
    CHECK(r.programs > random_cases(3));
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
