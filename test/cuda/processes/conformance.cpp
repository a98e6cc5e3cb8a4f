// Processes with NCCL between them give the bits of the sequential reference.
#include "../staged.hpp"
#include "job.hpp"
#include <ashlar/catalog.hpp>
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/conformance/data_parallel_ranks.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/run/sequential.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace ashlar;
using cuda_processes::job;

namespace {

std::vector<conformance::sample_program> fitting(std::vector<conformance::sample_program> all,
                                                 std::size_t every) {
  std::erase_if(all, [](auto const& s) { return !job::mine().fits(s.program); });
  std::vector<conformance::sample_program> some;
  for (std::size_t i = 0; i < all.size(); i += every) some.push_back(all[i]);
  return some;
}

// Runs some steps of this process's device; then all know what each has found.
template <class Staged, class Network>
void run(program const& p, std::vector<Network*> const& ranks, cuda::run_options const& o, int steps) {
  job& all = job::mine();
  all.alone([&] {
    if (cuda::process_group* const group = all.group(job::devices_of(p))) {
      auto const rank = static_cast<std::size_t>(all.rank() / p.device_count());
      std::vector<Staged*> mine(ranks.size(), nullptr);
      Staged worker(*ranks[rank]);
      mine[rank] = &worker;
      cuda::runtime<Staged> runtime(*group, p, mine, o);
      for (int step = 0; step < steps; ++step) runtime.run();
    }
    for (Network* w : ranks) w->adopt(all.largest(w->results()));
  });
}

void require_conformance(conformance::report const& r, int at_least) {
  CHECK(r.programs >= at_least);
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}

bool has_replicas(program const& p) {
  for (int g = 0; g < p.groups.count(); ++g)
    if (p.groups.holders(g).size() > 1) return true;
  return false;
}

auto runs(cuda::run_options const& o) {
  return [o](program const& p, conformance::network& w) {
    run<cuda_test::staged<conformance::network>>(p, std::vector{&w}, o, 1);
  };
}
auto ranks_run(cuda::run_options const& o) {
  return [o](program const& p, std::vector<conformance::sharded_network*> const& w) {
    run<cuda_test::staged_rank>(p, w, o, 1);
  };
}

}  // namespace

TEST_CASE("cuda processes: programs conform") {
  auto const samples = fitting(conformance::sample_programs(), 2);
  require_conformance(conformance::conforms(samples, runs({})), 50);
}

TEST_CASE("cuda processes: the catalog conforms on as many devices as there are processes") {
  int const p = job::mine().size();
  std::vector<conformance::sample_program> all;
  for (catalog::entry const& e : catalog::entries)
    if (catalog::shape const shape{devices{p}, micro_batches{p}}; e.check(shape).ok())
      all.push_back({std::string(e.name) + " p=" + std::to_string(p), lower(e.make(shape))});
  for (catalog::entry const& e : catalog::vocabulary_entries)
    all.push_back({std::string(e.name) + " p=" + std::to_string(p),
                   lower(e.make({devices{p}, micro_batches{p}}))});
  require_conformance(conformance::conforms(all, runs({})), 10);
}

TEST_CASE("cuda processes: large messages conform") {
  auto const samples = fitting(conformance::sample_programs(), 40);
  require_conformance(conformance::conforms(samples, runs({}), numerics::ordered, std::size_t{1} << 22),
                      2);
}

TEST_CASE("cuda processes: data-parallel ranks conform, with ordered sums and with NCCL's") {
  auto const samples = fitting(conformance::programs_of_ranks(), 3);
  require_conformance(conformance::ranks_conform(samples, ranks_run({})), 15);
  require_conformance(
      conformance::ranks_conform(fitting(conformance::programs_of_ranks(), 9),
                                 ranks_run({.sums = numerics::any_order}), numerics::any_order),
      5);
}

// The third of three steps is replayed for the second time: weights are those of three steps. Where a
// group has several holders the networks step the weights of one, and are told those of the others.
TEST_CASE("cuda processes: a replayed graph trains data-parallel ranks") {
  conformance::report r;
  for (auto const& sample : fitting(conformance::programs_of_ranks(), 1)) {
    if (has_replicas(sample.program)) continue;
    conformance::conformance_detail::try_program(r, sample.name, [&](auto const& say) {
      conformance::data_parallel_ranks expected(sample.program), found(sample.program);
      sequential reference(sample.program, expected.workers());
      for (int step = 0; step < 3; ++step) {
        expected.forget();
        reference.run();
      }
      found.forget();
      run<cuda_test::staged_rank>(sample.program, found.workers(), {}, 3);
      for (int group = 0; group < sample.program.groups.count(); ++group)
        say(expected.weights(group) == found.weights(group),
            "the weights of group " + std::to_string(group) + " differ");
    });
  }
  require_conformance(r, 5);
}
