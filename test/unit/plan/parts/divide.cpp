#include <ashlar/plan/parts/divide.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <cstddef>

using namespace ashlar;

namespace {

// The authors' own example: nine sizes, a fast algorithm of 1 MiB a sample and a slow one of a byte; a
// tick is 10 microseconds. (spcl/ucudnn, test/dp.cpp)
std::vector<division_option> nine_sizes() {
  std::vector<division_option> options;
  for (int b = 1; b <= 256; b *= 2) {
    options.push_back({b, {.time = 10 * b + 1, .memory = byte_count{b} << 20}});
    options.push_back({b, {.time = 1000 * b + 10, .memory = b}});
  }
  return options;
}

TEST_CASE("micro-batches are divided as their authors do it") {
  std::vector<division_option> const options = nine_sizes();
  std::vector<division> const front = divide(256, options, part_sizes::powers_of_two, (64 << 20) - 1);
  CHECK(front.size() == 15);
  CHECK((front[0].what == variant{258560, 1, 0} && front[0].parts.size() == 256));
  CHECK((front[8].what == variant{256010, 256, 0} && front[8].parts == std::vector<int>{17}));
  CHECK(front[14].what == variant{2568, 32 << 20, 0});
  CHECK(front[14].parts == std::vector<int>(8, 10));
}

TEST_CASE("parts have the sizes that they may have") {
  // 5 is 3 + 2, or 4 + 1, or 5.
  std::vector<division_option> const options{
      {1, {5, 1, 0}}, {2, {6, 2, 0}}, {3, {7, 3, 0}}, {4, {10, 4, 0}}, {5, {20, 5, 0}}};
  auto const least = [&](part_sizes sizes, byte_count limit) {
    std::vector<division> const front = divide(5, options, sizes, limit);
    return front.empty() ? tick{-1} : front.back().what.time;
  };
  CHECK((least(part_sizes::all, 5) == 13 && least(part_sizes::powers_of_two, 5) == 15));
  CHECK((least(part_sizes::undivided, 5) == 20 && least(part_sizes::undivided, 4) == -1));
  CHECK((least(part_sizes::all, 2) == 17 && least(part_sizes::all, 1) == 25
         && least(part_sizes::all, 0) == -1));
  // A penalty counts as time does; the samples of one part are not more than all.
  std::vector<division> const both = divide(1, {{1, {5, 1, 9}}, {1, {10, 1, 0}}, {2, {1, 1, 0}}});
  CHECK((both.size() == 1 && both[0].what == variant{10, 1, 0} && both[0].parts == std::vector<int>{1}));
}

TEST_CASE("divisions of nothing, and of times below zero, are refused") {
  CHECK_BREAKS(counts_are_positive, divide(0, {}));
  CHECK_BREAKS(no_duration_is_negative, divide(1, {{1, {-1, 0, 0}}}));
  CHECK_BREAKS(no_duration_is_negative, divide(1, {{1, {1, 0, -1}}}));
  CHECK(divide(1, {}).empty());
}

}  // namespace
