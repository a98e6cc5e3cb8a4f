// The needs of passes, in numbers.
#include "shapes.hpp"
#include <ashlar/program/names.hpp>
#include <ashlar/render/needs.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace ashlar;

namespace {

std::string needs(std::vector<needing_pass> const& all, pass what) {
  for (needing_pass const& p : all)
    if (p.what == what) {
      std::string words;
      for (std::size_t n : p.needs) words += (words.empty() ? "" : " ") + to_string(all[n].what);
      return words;
    }
  return "no such pass";
}

}  // namespace

TEST_CASE("a chain") {
  auto const all = needs_of(shapes::one_f_one_b(3, 2));
  CHECK(all.size() == 12);
  CHECK(needs(all, {shapes::F, 0, 1}) == "");
  CHECK(needs(all, {shapes::F, 2, 1}) == "1F1");
  CHECK(needs(all, {shapes::B, 2, 0}) == "2F0");
  CHECK(needs(all, {shapes::B, 0, 1}) == "0F1 1B1");
}

TEST_CASE("split and recomputed backwards, forks, work") {
  auto const split = needs_of(catalog::zb_h1(devices{2}) | repeat(micro_batches{1}));
  CHECK(needs(split, {shapes::I, 0, 0}) == "0F0 1I0");
  CHECK(needs(split, {shapes::W, 0, 0}) == "0I0");
  auto const again = needs_of(shapes::recomputed(2) | repeat(micro_batches{1}));
  CHECK(needs(again, {shapes::R, 0, 0}) == "0F0");
  CHECK(needs(again, {shapes::B, 0, 0}) == "0F0 0R0 1B0");
  auto const fork = needs_of(shapes::with_work(shapes::fork_join() | repeat(micro_batches{1})));
  CHECK(needs(fork, {shapes::F, 3, 0}) == "1F0 2F0");
  CHECK(needs(fork, {shapes::B, 0, 0}) == "0F0 1B0 2B0");
  CHECK(needs(fork, {shapes::X, 0, 1}) == "");
  auto const norm = needs_of(shapes::with_norm(shapes::one_f_one_b(2, 1)));
  CHECK(needs(norm, {shapes::X, 0, 1}) == "1B0");
  CHECK(needs(norm, {shapes::X, 2, 0}) == "0B0 0X0 0X1");  // what is summed, on both devices
}

TEST_CASE("all inputs are there before a pass starts, wherever they come from") {
  for (schedule const& s : {shapes::two_ways(4) | repeat(micro_batches{8}) | squeeze(),
                            catalog::v_half(devices{4}) | repeat(micro_batches{8}) | squeeze()}) {
    auto const all = needs_of(s);
    for (needing_pass const& p : all)
      for (std::size_t n : p.needs) CHECK(all[n].end <= p.start);
  }
}

TEST_CASE("an input that no pass gives is left out") {
  schedule s = shapes::one_f_one_b(2, 1);
  s.order[0].clear();
  CHECK(needs(needs_of(s), {shapes::F, 1, 0}) == "");
}
