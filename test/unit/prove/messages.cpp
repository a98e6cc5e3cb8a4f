#include <ashlar/prove/messages.hpp>
// The header above comes first: it needs nothing before it.
#include "mutate.hpp"
#include "shapes.hpp"
#include <ashlar/lower/lower.hpp>

#include <doctest/doctest.h>

using namespace shapes;

namespace {

TEST_CASE("both halves of a transfer have the same number, others have others") {
  program p = fork_join() | repeat(micro_batches{2}) | lower();
  message_index const index(p);
  CHECK(index.count() == 2 * 4 * 2);
  std::vector<int> sends(16, 0), receives(16, 0);
  for (instruction const& i : p.instructions) {
    if (i.code == opcode::send) ++sends[static_cast<std::size_t>(index.number(i))];
    if (i.code == opcode::receive) ++receives[static_cast<std::size_t>(index.number(i))];
  }
  CHECK((sends == std::vector<int>(16, 1) && receives == sends));
  int i = 0;
  for (int d = 0; d < 4; ++d)
    for (int k = 0; k < mutate::length(p, d); ++k, ++i) {
      CHECK(index.device(i) == d);
      CHECK((index.at(i).device == d && index.at(i).index == k));
    }
}

TEST_CASE("no edge, no message") {
  program const p = one_f_one_b(3, 2) | lower();
  message_index const index(p);
  auto const number = [&](pass what, int to) {
    return index.number({.code = opcode::send, .what = what, .to = to});
  };
  CHECK((number({F, 0, 0}, 1) >= 0 && number({B, 1, 0}, 0) >= 0));
  CHECK(number({B, 1, 0}, 0) == number({I, 1, 0}, 0));
  CHECK(number({F, 0, 0}, 2) == message_index::nowhere);  // no such edge
  CHECK(number({F, 1, 0}, 0) == message_index::nowhere);  // against the edge
  CHECK(number({B, 0, 0}, 1) == message_index::nowhere);
  CHECK(number({W, 1, 0}, 0) == message_index::nowhere);  // weights do not travel so
  CHECK(number({F, -1, 0}, 0) == message_index::nowhere);
  CHECK(number({F, 0, 0}, 3) == message_index::nowhere);
  CHECK(number({F, 0, 2}, 1) == message_index::nowhere);
}

}  // namespace
