// Broken programs: the proofs must reject exactly what can go wrong when it is executed.
#include "oracle/agreement.hpp"

#include <doctest/doctest.h>

#include <array>

namespace {

using namespace oracle;

struct tally {
  int accepted = 0, rejected = 0;
};

// Mutants of every sample up to p devices and m micro-batches, each of `changes` mutations.
void compare(int p, int m, int changes, int mutants_a_sample, std::uint32_t seed) {
  std::array<tally, mutations> by_mutation{};
  int circles = 0;
  for (sample const& s : samples(p, m).take())
    for (int n = 0; n < mutants_a_sample; ++n) {
      draft d(s.made, ++seed);
      std::string applied;
      mutation last{};
      for (int c = 0; c < changes;) {
        last = d.any();
        c += d.apply(last);
        applied += std::string(applied.empty() ? "" : ", ") + name_of(last);
      }
      program const mutant = d.assemble();
      opinions const o = ask(mutant);
      auto& count = by_mutation[static_cast<std::size_t>(last)];
      ++(o.proof.ok() ? count.accepted : count.rejected);
      if (!o.agree())
        FAIL_CHECK(s.name << ", seed " << seed << ": " << applied << '\n'
                          << written_out(o) << written_out(mutant));
      if (o.proof.broken != ashlar::rule::no_cycle_of_waits) continue;
      ++circles;
      if (auto const circle = ashlar::find_wait_cycle(mutant); !is_wait_cycle(mutant, circle))
        FAIL_CHECK(s.name << ", seed " << seed << ": " << applied << ": no circle of " << circle.size()
                          << '\n'
                          << written_out(mutant));
    }
  CHECK(circles > 0);
  if (changes > 1) return;
  // Both verdicts occur, and harmless changes are among the mutants.
  for (auto m_ : {mutation::swap_neighbours, mutation::change_slot, mutation::change_peer,
                  mutation::swap_transfers_on_both_sides, mutation::reduce_earlier})
    CHECK_MESSAGE(by_mutation[static_cast<std::size_t>(m_)].accepted > 0, name_of(m_));
  for (auto m_ : {mutation::rename_slots, mutation::give_value_a_new_slot})
    CHECK_MESSAGE(by_mutation[static_cast<std::size_t>(m_)].accepted
                      > by_mutation[static_cast<std::size_t>(m_)].rejected,
                  name_of(m_));
}

}  // namespace

TEST_CASE("one change") { compare(3, 3, 1, 40, 0); }
TEST_CASE("two changes") { compare(3, 2, 2, 20, 1'000'000); }
TEST_CASE("three changes") { compare(2, 2, 3, 20, 2'000'000); }
