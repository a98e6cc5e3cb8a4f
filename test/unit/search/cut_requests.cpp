#include <ashlar/search/cut_requests.hpp>
// The header above comes first: it needs nothing before it.
#include "random.hpp"
#include "violations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

using namespace ashlar;

namespace {

tick longest_of(std::vector<int> const& ends, time_of_tokens time) {
  tick most = 0;
  for (int first = 0; int const end : ends) {
    most = std::max(most, time(first, end));
    first = end;
  }
  return most;
}

// All ways to cut.
tick least_of(int first, int tokens, int chunks, int granule, time_of_tokens time) {
  tick least = time(first, tokens);
  for (int end = first + granule; chunks > 1 && end < tokens; end += granule)
    least =
        std::min(least, std::max(time(first, end), least_of(end, tokens, chunks - 1, granule, time)));
  return least;
}

TEST_CASE("without attention chunks are of equal length, with attention later ones are shorter") {
  CHECK(cut_into_chunks(4096, 4, 256, causal_request{4096, 1 << 20, 0})
        == std::vector<int>{1024, 2048, 3072, 4096});
  std::vector<int> const ends = cut_into_chunks(4096, 4, 1, causal_request{4096, 1 << 20, 50});
  REQUIRE(ends.size() == 4);
  for (std::size_t i = 1; i < 4; ++i)
    CHECK(ends[i] - ends[i - 1] < (i == 1 ? ends[0] : ends[i - 1] - ends[i - 2]));
  CHECK(longest_of(ends, causal_request{4096, 1 << 20, 50}) < (1 << 18) + 400);
}

TEST_CASE("the parts of a request add up to it") {
  CHECK(causal_request{.whole = 5}(0, 1) == 5);  // a token, by default
  causal_request const time{1000, 999, 37};
  CHECK(time(0, 1000) == 999);
  for (int const cut : {1, 333, 999}) CHECK(time(0, cut) + time(cut, 1000) == 999);
}

TEST_CASE("a granule may be longer than a request, and there may be fewer chunks than asked for") {
  CHECK(cut_into_chunks(100, 4, 256, causal_request{100, 50, 0}) == std::vector<int>{100});
  CHECK(cut_into_chunks(600, 9, 256, causal_request{600, 50, 0}) == std::vector<int>{256, 512, 600});
  CHECK(cut_into_chunks(600, 1, 256, causal_request{600, 50, 0}) == std::vector<int>{600});
  CHECK(cut_into_chunks(8, 4, 1, [](int, int) { return tick{0}; }) == std::vector<int>{8});
}

TEST_CASE("no other cut has a shorter longest chunk") {
  FOR_SEEDS(300) {
    int const tokens = d.between(1, 24), chunks = d.between(1, 5), granule = d.between(1, 4);
    causal_request const time{tokens, d.between(0, 100), d.between(0, 100)};
    CAPTURE(seed);
    std::vector<int> const ends = cut_into_chunks(tokens, chunks, granule, time);
    REQUIRE((!ends.empty() && static_cast<int>(ends.size()) <= chunks && ends.back() == tokens));
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) CHECK(ends[i] % granule == 0);
    CHECK(longest_of(ends, time) == least_of(0, tokens, chunks, granule, time));
  }
}

TEST_CASE("numbers below one are refused") {
  causal_request const time{8, 8, 0};
  CHECK_BREAKS(counts_are_positive, cut_into_chunks(0, 1, 1, time));
  CHECK_BREAKS(counts_are_positive, cut_into_chunks(8, 0, 1, time));
  CHECK_BREAKS(counts_are_positive, cut_into_chunks(8, 1, 0, time));
}

}  // namespace
