#include <ashlar/run/program_source.hpp>
// The header above comes first: it needs nothing before it.
#include "shapes.hpp"
#include "violations.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <type_traits>
#include <utility>

using namespace shapes;

namespace {

constexpr program make_source() { return one_f_one_b(2, 2) | lower(); }

static_assert(!std::is_convertible_v<program_view, program_source>);
static_assert(!std::is_constructible_v<program_source, program_view const&>);

TEST_CASE("a program is proved before it runs, and stays where it is") {
  program_source source = make_source();
  instruction const* const first = source.view().instructions.data();
  program_source const moved = std::move(source.prove());
  CHECK(moved.view().instructions.data() == first);
  CHECK(moved.view().instructions.size() == make_source().instructions.size());
}

TEST_CASE("a wrong program can be given, and is refused when it is to be proved") {
  program p = make_source();
  p.instructions[1].what.stage = 1;
  program_source source = p;
  for (int time = 0; time < 2; ++time) CHECK_THROWS_AS(source.prove(), violation);
  CHECK_NOTHROW(program_source::unproved(p.view()).prove());  // somebody else's business
}

TEST_CASE("proved and frozen programs") {
  program_source proved = proved_program(make_source());
  CHECK(proved.prove().view().device_count == 2);
  program_source from_frozen = freeze<make_source>;
  CHECK(from_frozen.prove().view().instructions.data()
        == freeze<make_source>.view().instructions.data());
}

TEST_CASE("a window has a pass, and is of a program whose passes may run so") {
  program p = lower(one_f_one_b(2, 3));
  for (int const window : {1, 2, 9}) CHECK_NOTHROW(require_window(p.view(), window));
  for (int const window : {0, -1})
    CHECK_THROWS_AS(require_window(p.view(), window), std::invalid_argument);
  p.stream_begin.pop_back();
  CHECK_BREAKS(tables_agree, require_window(p.view(), 2));
}

}  // namespace
