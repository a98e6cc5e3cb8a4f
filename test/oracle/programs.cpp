// Lowered programs are right in every interleaving, and proved right.
#include "oracle/agreement.hpp"
#include "oracle/shard_samples.hpp"
#include "random_cases.hpp"
#include <ashlar/prove/wait_cycle.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace oracle;

TEST_CASE("what lower makes ends well in every order of events") {
  for (sample const& s : listed_cases(samples(4, 4).take())) {
    opinions const o = ask(s.made);
    INFO(s.name << '\n' << written_out(o));
    CHECK(o.oracle.good);
    CHECK(o.proof.ok());
    CHECK(ashlar::find_wait_cycle(s.made).empty());
  }
}

TEST_CASE(
    "what ranks share, work, clipping, chunks, graphs, shards of a layer and copies to the host end "
    "well "
    "in every order of events, on one rank "
    "and on "
    "both") {
  std::vector<sample> all = shared();
  for (sample& s : tied()) all.push_back(std::move(s));
  for (sample& s : worked()) all.push_back(std::move(s));
  for (sample& s : clipped()) all.push_back(std::move(s));
  for (sample& s : chunked()) all.push_back(std::move(s));
  for (sample& s : of_graphs()) all.push_back(std::move(s));
  for (sample& s : layers_in_shards()) all.push_back(std::move(s));
  for (sample& s : offloaded()) all.push_back(std::move(s));
  for (sample const& s : listed_cases(std::move(all))) {
    opinions const o = ask(s.made);
    INFO(s.name << '\n' << written_out(o));
    CHECK(o.oracle.good);
    CHECK(o.proof.ok());
    // Both ranks have about the square of one's states. Every kind of program has some with fewer than
    // this many.
    if (s.made.data_ranks == 1 || o.oracle.states > many_cases(2000, 100'000)) continue;
    verdict const both = machine(s.made, 2).explore();
    INFO(both.why);
    CHECK(both.good);
    CHECK(both.states > o.oracle.states);
  }
}
