// Broken programs: the proofs must reject exactly those that can go wrong.
#include "oracle/agreement.hpp"
#include "oracle/shard_samples.hpp"
#include "random_cases.hpp"
#include <ashlar/prove/wait_cycle.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

using namespace oracle;

struct tally {
  int accepted = 0, rejected = 0;
};

using tallies = std::array<tally, mutations>;

// Mutants of every sample, each of `changes` mutations.
tallies compare(std::vector<sample> const& all, int changes, int mutants_a_sample, std::uint32_t seed) {
  tallies by_mutation{};
  int circles = 0;
  for (sample const& s : all) {
    draft const right(s.made);
    draft d = right;
    for (int n = 0; n < long_cases(mutants_a_sample); ++n) {
      d = right;
      d.seed(++seed);
      std::string applied;
      mutation last{};
      for (int done = 0, tries = 0; done < changes && tries < 100; ++tries) {
        mutation const next = d.any();
        if (!d.apply(next)) continue;
        applied += std::string(done == 0 ? "" : ", then ") + name_of(last = next);
        ++done;
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
        FAIL_CHECK(s.name << ", seed " << seed << ": " << applied << ": no cycle of " << circle.size()
                          << '\n'
                          << written_out(mutant));
    }
  }
  CHECK(circles > 0);
  return by_mutation;
}

}  // namespace

TEST_CASE("one change") {
  tallies const all = compare(samples(3, 3).take(), 1, 300, 0);
  auto const of = [&](mutation kind) { return all[static_cast<std::size_t>(kind)]; };
  // Both verdicts occur, and harmless changes are among the mutants.
  for (auto kind : {mutation::swap_neighbours, mutation::move_within_stream, mutation::change_peer,
                    mutation::reduce_earlier, mutation::swap_transfers_on_both_sides})
    CHECK_MESSAGE((of(kind).accepted > 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  CHECK(of(mutation::change_slot).rejected > 0);  // harmless once in thousands: not every day
  for (auto kind : {mutation::rename_slots, mutation::give_value_a_new_slot})
    CHECK_MESSAGE((of(kind).accepted > 0 && of(kind).rejected == 0), std::string(name_of(kind)));
  for (auto kind : {mutation::drop, mutation::duplicate, mutation::change_stage, mutation::change_use,
                    mutation::swap_operands, mutation::change_lane, mutation::drop_operand,
                    mutation::change_sequence_chunks})
    CHECK_MESSAGE((of(kind).accepted == 0 && of(kind).rejected > 0), std::string(name_of(kind)));
}
TEST_CASE("one change, four devices") { compare(samples(4, 3).take(), 1, 20, 1'000'000); }
TEST_CASE("two changes") { compare(samples(3, 3).take(), 2, 60, 2'000'000); }
TEST_CASE("three changes") { compare(samples(3, 3).take(), 3, 40, 3'000'000); }

TEST_CASE("overlapped pairs") {
  std::vector<sample> const all = pairs();
  tallies const one = compare(all, 1, 1500, 4'000'000);
  auto const& changed = one[static_cast<std::size_t>(mutation::change_pairing)];
  CHECK(changed.accepted > 0);  // the pair taken apart
  CHECK(changed.rejected > 0);
  compare(all, 2, 800, 5'000'000);
}

TEST_CASE("parameters in common: other changes") {
  std::vector<sample> const all = tied();
  tallies const one = compare(all, 1, 1000, 8'000'000);
  auto const& named = one[static_cast<std::size_t>(mutation::change_group)];
  CHECK((named.accepted > 0 && named.rejected > 0));
  compare(all, 2, 400, 9'000'000);
}

TEST_CASE("work: other changes") {
  std::vector<sample> const all = worked();
  tallies const one = compare(all, 1, 4000, 10'000'000);
  auto const of = [&](mutation kind) { return one[static_cast<std::size_t>(kind)]; };
  for (auto kind : {mutation::drop, mutation::duplicate, mutation::drop_edge, mutation::change_stage})
    CHECK_MESSAGE((of(kind).accepted == 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  for (auto kind : {mutation::swap_reductions, mutation::move_within_stream, mutation::change_slot})
    CHECK_MESSAGE((of(kind).accepted > 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  compare(all, 2, 200, 11'000'000);
}

TEST_CASE("clipped micro-batches: other changes") {
  std::vector<sample> const all = clipped();
  tallies const one = compare(all, 1, 500, 14'000'000);
  auto const of = [&](mutation kind) { return one[static_cast<std::size_t>(kind)]; };
  for (auto kind : {mutation::drop, mutation::duplicate, mutation::drop_edge, mutation::change_stage,
                    mutation::drop_operand})
    CHECK_MESSAGE((of(kind).accepted == 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  for (auto kind : {mutation::swap_neighbours, mutation::move_within_stream, mutation::reduce_earlier})
    CHECK_MESSAGE((of(kind).accepted > 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  compare(all, 2, 100, 15'000'000);
}

TEST_CASE("sequences in chunks: other changes") {
  std::vector<sample> const all = chunked();
  tallies const one = compare(all, 1, 600, 12'000'000);
  auto const of = [&](mutation kind) { return one[static_cast<std::size_t>(kind)]; };
  for (auto kind :
       {mutation::drop, mutation::duplicate, mutation::drop_operand, mutation::change_sequence_chunks})
    CHECK_MESSAGE((of(kind).accepted == 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  for (auto kind : {mutation::swap_neighbours, mutation::move_within_stream, mutation::change_slot})
    CHECK_MESSAGE((of(kind).accepted > 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  compare(all, 2, 150, 13'000'000);
}

TEST_CASE("shards of a layer: other changes") {
  std::vector<sample> const all = layers_in_shards();
  tallies const one = compare(all, 1, 300, 16'000'000);
  auto const of = [&](mutation kind) { return one[static_cast<std::size_t>(kind)]; };
  for (auto kind : {mutation::drop, mutation::duplicate, mutation::drop_operand, mutation::change_stage})
    CHECK_MESSAGE((of(kind).accepted == 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  for (auto kind : {mutation::swap_neighbours, mutation::move_within_stream})
    CHECK_MESSAGE((of(kind).accepted > 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  compare(all, 2, 80, 17'000'000);
  // Instructions of a graph whose last stages are no shards, or shards of another sort.
  for (sample const& s : all) {
    bool const early = s.made.graph.gradients() == ashlar::shard_gradient::of_forward;
    std::vector<int> layer;
    for (int shard : s.made.graph.shards_with(s.made.stage_count() - 1)) layer.push_back(shard);
    for (bool const stay : {false, true}) {
      program other = s.made;
      other.graph = in_shards(
          other.graph, stay ? std::vector<std::vector<int>>{layer} : std::vector<std::vector<int>>{},
          early ? ashlar::shard_gradient::of_backward : ashlar::shard_gradient::of_forward);
      opinions const o = ask(other);
      INFO(s.name << '\n' << written_out(o));
      CHECK((!o.oracle.good && !o.proof.ok()));
    }
  }
}

TEST_CASE("copies to the host: other changes") {
  std::vector<sample> const all = offloaded();
  tallies const one = compare(all, 1, 120, 18'000'000);
  auto const of = [&](mutation kind) { return one[static_cast<std::size_t>(kind)]; };
  for (auto kind : {mutation::drop, mutation::duplicate, mutation::drop_operand, mutation::change_stage,
                    mutation::change_lane})
    CHECK_MESSAGE((of(kind).accepted == 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  for (auto kind : {mutation::swap_neighbours, mutation::move_within_stream})
    CHECK_MESSAGE((of(kind).accepted > 0 && of(kind).rejected > 0), std::string(name_of(kind)));
  CHECK(of(mutation::change_slot).rejected > 0);
  compare(all, 2, 32, 19'000'000);
}

// A checkpoint is no longer read once its forward has run again: other contents may do no harm then.
TEST_CASE("one change where passes run again: a changed slot is harmless at times") {
  std::vector<sample> all;
  for (sample& s : samples(2, 3).take())
    if (s.name.find("recompute") != std::string::npos) all.push_back(std::move(s));
  tally const slots = compare(all, 1, 600, 20'000'000)[static_cast<std::size_t>(mutation::change_slot)];
  CHECK((slots.accepted > 0 && slots.rejected > 0));
}

TEST_CASE("what ranks share: other changes") {
  std::vector<sample> const all = shared();
  tallies const one = compare(all, 1, 400, 6'000'000);
  CHECK(one[static_cast<std::size_t>(mutation::change_stage)].accepted == 0);
  for (auto kind : {mutation::change_peer, mutation::move_within_stream, mutation::reduce_earlier}) {
    auto const& of = one[static_cast<std::size_t>(kind)];
    CHECK_MESSAGE((of.accepted > 0 && of.rejected > 0), std::string(name_of(kind)));
  }
  compare(all, 2, 150, 7'000'000);
  compare(all, 3, 100, 8'000'000);
}
