#include <ashlar/run/value_sample.hpp>
// The header above comes first: it needs nothing before it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

using namespace ashlar;

TEST_CASE("a sample of many values is bounded, and no part of them has more of it than its share") {
  std::mt19937_64 random(7);
  value_sample sample;
  int const most = static_cast<int>(value_sample::most), all = 10 * most;
  for (int i = 0; i < most; ++i) sample.add(i, random);
  REQUIRE(sample.kept().size() == value_sample::most);
  CHECK(sample.kept().front() == 0);
  CHECK(sample.kept().back() == most - 1);
  for (int i = most; i < all; ++i) sample.add(i, random);
  CHECK(sample.kept().size() == value_sample::most);
  CHECK(std::set<double>(sample.kept().begin(), sample.kept().end()).size() == value_sample::most);
  std::vector<int> of_tenth(10, 0);
  for (double const value : sample.kept())
    ++of_tenth[static_cast<std::size_t>(value) / value_sample::most];
  for (int const count : of_tenth) CHECK(std::abs(count - most / 10) < 80);  // four standard deviations
}
