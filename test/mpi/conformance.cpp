// Processes give the bits of the sequential reference.
#include "support.hpp"
#include <ashlar/conformance/conforms.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace ashlar;
using conformance::network;

namespace {

std::vector<conformance::sample_program> fitting(std::vector<conformance::sample_program> all) {
  std::erase_if(all, [](auto const& s) { return !mpi_test::fits(s.program); });
  return all;
}

// Every entry of the catalog on p devices, with p micro-batches or, where that is too few, 2p.
std::vector<conformance::sample_program> catalog_on(int p) {
  std::vector<conformance::sample_program> all;
  for (catalog::entry const& e : catalog::entries) {
    catalog::shape shape{devices{p}, micro_batches{p}};
    if (!e.check(shape).ok()) shape.m = micro_batches{2 * p};
    all.push_back({std::string(e.name) + " p=" + std::to_string(p), lower(e.make(shape))});
  }
  return all;
}

// Each n-th, which for the samples of the kit means other sizes, lanes and levels each time.
std::vector<conformance::sample_program> every(std::size_t n,
                                               std::vector<conformance::sample_program> const& all) {
  std::vector<conformance::sample_program> some;
  for (std::size_t i = 0; i < all.size(); i += n) some.push_back(all[i]);
  return some;
}

void require_conformance(conformance::report const& r, int at_least) {
  CHECK(r.programs >= at_least);
  for (std::string const& failure : r.failures) FAIL_CHECK(failure);
}

auto runs(mpi::run_options options) {
  return [options](program const& p, network& w) { mpi_test::run(p, std::vector{&w}, options); };
}
auto ranks_run(mpi::run_options options) {
  return [options](program const& p, std::vector<conformance::sharded_network*> const& w) {
    mpi_test::run(p, w, options);
  };
}

}  // namespace

TEST_CASE("mpi: programs conform, with ordered sums and with the library's") {
  auto const samples = fitting(conformance::sample_programs());
  require_conformance(conformance::conforms(samples, runs({})), 100);
  require_conformance(
      conformance::conforms(every(3, samples), runs({.sums = numerics::any_order}), numerics::any_order),
      50);
  require_conformance(
      conformance::conforms(every(5, samples), runs({.progress = mpi::progress_by::nobody})), 30);
  require_conformance(conformance::conforms(every(3, samples), runs({.window = 4})), 30);
}

TEST_CASE("mpi: programs that offload conform") {
  auto const samples = fitting(conformance::programs_that_offload());
  require_conformance(conformance::conforms(every(2, samples), runs({})), 25);
}

TEST_CASE("mpi: data-parallel ranks conform, with ordered sums and with the library's") {
  auto const samples = fitting(conformance::programs_of_ranks());
  require_conformance(conformance::ranks_conform(every(2, samples), ranks_run({})), 25);
  require_conformance(
      conformance::ranks_conform(every(7, samples), ranks_run({.sums = numerics::any_order}),
                                 numerics::any_order),
      8);
}

TEST_CASE("mpi: the catalog conforms on as many devices as there are processes") {
  require_conformance(conformance::conforms(catalog_on(mpi_test::process_count()), runs({})), 27);
}

TEST_CASE("mpi: messages beyond the eager limit, and in pieces") {
  auto const samples = catalog_on(mpi_test::process_count());
  std::size_t const mib = std::size_t{1} << 20;
  require_conformance(conformance::conforms(samples, runs({}), numerics::ordered, mib), 27);
  require_conformance(
      conformance::conforms(every(4, samples), runs({.piece = 10'000}), numerics::ordered, 100'003), 6);
  program const small = catalog::find("zb-h1")->make({devices{2}, micro_batches{2}}) | lower();
  require_conformance(
      conformance::conforms({{"zb-h1 p=2", small}}, runs({}), numerics::ordered, 64 * mib), 1);
}
