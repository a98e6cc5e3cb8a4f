// The programs that a backend is tried with are of all kinds.
#include <ashlar/check/check.hpp>
#include <ashlar/conformance/programs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

using namespace ashlar;
using conformance::sample_program;

namespace {

bool has(program const& p, pass_kind kind) {
  return std::any_of(p.instructions.begin(), p.instructions.end(), [&](instruction const& i) {
    return i.code == opcode::compute && i.what.kind == kind;
  });
}
bool forks(program const& p) {
  bool found = false;
  for (int stage = 0; stage < p.stage_count(); ++stage)
    found = found || p.graph.successors(stage).size() > 1;
  return found;
}
std::size_t count_if(std::vector<sample_program> const& all, auto holds) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](sample_program const& s) { return holds(s.program); }));
}

}  // namespace

TEST_CASE("sample programs: names are different, and every program is valid") {
  for (auto const& all :
       {conformance::sample_programs(), conformance::programs_of_ranks(),
        conformance::programs_that_offload(), conformance::programs_of_ranks_that_offload()}) {
    std::set<std::string> names;
    for (sample_program const& s : all) {
      CHECK_MESSAGE(names.insert(s.name).second, s.name);
      CHECK_MESSAGE(check(s.program).ok(), s.name);
    }
    CHECK(names.size() > 200);
  }
}

TEST_CASE("sample programs: every entry of the catalog is among them, with every kind of lanes") {
  auto const all = conformance::sample_programs();
  for (catalog::entry const& e : catalog::entries)
    for (auto lanes :
         {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction}) {
      std::size_t const found =
          static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](sample_program const& s) {
            return s.name.starts_with(std::string(e.name) + " p=") && s.program.lanes == lanes;
          }));
      CHECK_MESSAGE(found >= 2, e.name);
    }
}

TEST_CASE("sample programs: what no entry has is among them") {
  auto const all = conformance::sample_programs();
  auto const some = [&](auto holds) { return count_if(all, holds) >= 10; };
  CHECK(some([](program const& p) { return p.mode == execution_mode::inference; }));
  CHECK(some([](program const& p) { return has(p, pass_kind::recompute); }));
  CHECK(some([](program const& p) { return has(p, pass_kind::backward); }));
  CHECK(some([](program const& p) { return has(p, pass_kind::backward_weight); }));
  CHECK(some([](program const& p) { return forks(p); }));
  CHECK(some([](program const& p) { return p.graph.has_sizes() && p.work.empty(); }));
  CHECK(some([](program const& p) { return p.graph.has_sizes() && !p.work.empty(); }));
  CHECK(some([](program const& p) { return !p.groups.shared().empty(); }));
  // A sequence has more than two chunks.
  CHECK(some([](program const& p) { return p.graph.sequence_chunks() > 2; }));
  CHECK(some(
      [](program const& p) { return p.graph.sequence_chunks() > 2 && has(p, pass_kind::recompute); }));
  // The random ones have up to three: four are in a fused, a split and a recomputed Seq1F1B alone.
  std::size_t const kinds_of_lanes = 3;
  CHECK(count_if(all, [](program const& p) { return p.graph.sequence_chunks() == 4; })
        == 3 * kinds_of_lanes);
  // A backward in two halves has replicas.
  CHECK(some(
      [](program const& p) { return p.where.route_count() > 1 && has(p, pass_kind::backward_weight); }));
  CHECK(count_if(all, [](program const& p) { return p.where.route_count() > 2; }) >= 3);
  // There is work of all kinds, at random places: with state, with sums, beside passes that fork, of
  // sequences in chunks, of stages that recompute.
  auto const with_job = [&](auto holds) {
    return std::count_if(all.begin(), all.end(),
                         [&](sample_program const& s) {
                           work_view const work = s.program.work.view();
                           int held = 0;
                           for (int job = 0; job < work.job_count(); ++job) held += holds(work, job);
                           return s.name.find(" with work") != std::string::npos && held > 0;
                         })
           >= 10;
  };
  CHECK(with_job([](work_view const& w, int job) { return w.uses_state(job); }));
  CHECK(with_job([](work_view const& w, int job) { return w.is_collective(job); }));
  CHECK(some([](program const& p) { return !p.work.empty() && forks(p); }));
  CHECK(some([](program const& p) { return !p.work.empty() && p.graph.sequence_chunks() > 1; }));
  CHECK(some([](program const& p) { return !p.work.empty() && has(p, pass_kind::recompute); }));
}

TEST_CASE("programs of ranks: every entry is among them, with every level of sharding") {
  auto const all = conformance::programs_of_ranks();
  for (catalog::entry const& e : catalog::entries)
    for (auto level : {sharding_level::none, sharding_level::optimizer, sharding_level::gradients,
                       sharding_level::weights, sharding_level::full}) {
      bool const found = std::any_of(all.begin(), all.end(), [&](sample_program const& s) {
        return s.name.starts_with(std::string(e.name) + " p=") && s.program.sharding == level;
      });
      CHECK_MESSAGE(found, e.name);
    }
  for (sample_program const& s : all) {
    CHECK_MESSAGE(s.program.data_ranks == 2, s.name);
    bool const inference = s.program.mode == execution_mode::inference;
    CHECK_MESSAGE((!inference || s.program.step == optimizer_step::none), s.name);
  }
}

TEST_CASE("programs of ranks: steps, lanes, groups and work meet every level of sharding") {
  auto const all = conformance::programs_of_ranks();
  for (auto level : {sharding_level::none, sharding_level::optimizer, sharding_level::gradients,
                     sharding_level::weights, sharding_level::full}) {
    CAPTURE(static_cast<int>(level));
    auto const some = [&](auto holds) {
      return count_if(all, [&](program const& p) { return p.sharding == level && holds(p); }) >= 3;
    };
    for (auto step : {optimizer_step::none, optimizer_step::at_end, optimizer_step::after_norm}) {
      CHECK(some([&](program const& p) { return p.step == step; }));
      CHECK(some([&](program const& p) { return p.step == step && !p.groups.shared().empty(); }));
    }
    for (auto lanes : {transfer_lanes::one, transfer_lanes::one_a_peer, transfer_lanes::one_a_direction})
      CHECK(some([&](program const& p) { return p.lanes == lanes; }));
  }
  CHECK(count_if(all, [](program const& p) { return p.groups.shared().size() == 2; }) >= 10);
  // No work has state here: two steps are compared one by one.
  CHECK(count_if(all, [](program const& p) { return !p.work.empty(); }) >= 30);
  for (sample_program const& s : all)
    for (int job = 0; job < s.program.work.job_count(); ++job)
      CHECK(!s.program.work.view().uses_state(job));
}
