// Devices may start the first of their next passes that can start: right in every interleaving.
#include "oracle/agreement.hpp"
#include "random_cases.hpp"
#include <ashlar/prove/window.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace oracle;

namespace {

std::vector<sample> with_room(int p, int m) {
  std::vector<sample> all = samples(p, m).take();
  for (char const* const name : {"1f1b", "zb-h1", "v-half", "dualpipev"})
    for (int d = 1; d <= p; ++d) {
      ashlar::catalog::shape const shape{ashlar::devices{d}, ashlar::micro_batches{m}};
      if (!ashlar::catalog::find(name)->check(shape).ok()) continue;
      all.push_back({name + std::string(", a slot each value, p=") + std::to_string(d),
                     lower(ashlar::catalog::find(name)->make(shape),
                           {.lanes = ashlar::transfer_lanes::one_a_direction,
                            .slots = ashlar::slot_reuse::never})});
    }
  return all;
}

}  // namespace

TEST_CASE("programs end well in every order of events within every window") {
  std::size_t freer = 0;
  for (sample const& s : listed_cases(with_room(3, 3))) {
    INFO(s.name);
    std::size_t before = machine(s.made).explore().states;
    for (std::size_t const window : {2U, 3U, 6U}) {
      verdict const v = machine(s.made, 1, window).explore();
      INFO(v.why << " at " << v.device << '[' << v.index << "], window " << window);
      CHECK(v.good);
      CHECK(ashlar::check_window(s.made, static_cast<int>(window)).ok());
      CHECK(v.states >= before);  // all orders of a smaller window are there
      freer += v.states > before;
      before = v.states;
    }
  }
  CHECK(freer > 100);
}

// Tied parameters, work and chunks of sequences: devices have a choice on the passes alone.
TEST_CASE("what else a program has keeps its place within a window") {
  std::vector<sample> all = tied();
  for (sample& s : worked()) all.push_back(std::move(s));
  for (sample& s : chunked()) all.push_back(std::move(s));
  for (sample const& s : listed_cases(std::move(all))) {
    verdict const v = machine(s.made, 1, 3).explore();
    INFO(s.name << ": " << v.why << " at " << v.device << '[' << v.index << ']');
    CHECK(v.good);
    CHECK(ashlar::check_window(s.made, 3).ok());
  }
}

// The proof looks at waits one by one, the oracle at every order; both say the same of changed programs.
TEST_CASE("of changed programs the proof of a window says what every order of events says") {
  int right = 0, wrong = 0;
  std::uint32_t seed = 30'000'000;
  for (sample const& s : with_room(2, 2)) {
    draft const made(s.made);
    for (int n = 0; n < long_cases(12); ++n) {
      draft changed = made;
      changed.seed(++seed);
      mutation const kind = changed.any();
      if (!changed.apply(kind)) continue;
      program const mutant = changed.assemble();
      verdict const v = machine(mutant, 1, 3).explore();
      bool const proved = ashlar::check_window(mutant, 3).ok();
      ++(proved ? right : wrong);
      if (proved != v.good)
        FAIL_CHECK(s.name << ", seed " << seed << ": " << name_of(kind) << ": " << v.why << '\n'
                          << written_out(mutant));
    }
  }
  CHECK(right > 10);
  CHECK(wrong > 100);
}

// Without the rule that a kind of pass keeps its order on a stage, sums would still be in order where
// each adds to the same slot; the rule also keeps what a worker counts by itself.
TEST_CASE("a program that is wrong is wrong within a window") {
  ashlar::program p =
      lower(ashlar::catalog::find("zb-h1")->make({ashlar::devices{2}, ashlar::micro_batches{3}}));
  REQUIRE(machine(p, 1, 4).explore().good);
  for (instruction& i : p.instructions)
    if (i.code == opcode::send) {
      i.peer = 1 - i.peer;
      break;
    }
  CHECK(!machine(p, 1, 4).explore().good);
}
