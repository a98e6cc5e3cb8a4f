#include <ashlar/plan/training/layer_division.hpp>
// The header above comes first: it needs nothing before it.
#include "violations.hpp"

#include <vector>

using namespace ashlar;

namespace {

TEST_CASE("layer divisions: as even as the head allows") {
  placement const line = linear(devices{3});
  CHECK(balanced_division(7, 1, 0, line) == std::vector<int>{3, 2, 2});
  CHECK(balanced_division(7, 1, 1, line) == std::vector<int>{3, 3, 1});
  CHECK(balanced_division(7, 1, 2, line) == std::vector<int>{3, 3, 1});
  CHECK(balanced_division(7, 1, 9, line) == std::vector<int>{3, 3, 1});
  // The first device of a V has the first stage and the last.
  CHECK(balanced_division(6, 1, 2, v_shape(devices{2})) == std::vector<int>{1, 2, 2, 1});
  CHECK(balanced_division(6, 1, 0, looped(devices{2}, chunks{2})) == std::vector<int>{2, 2, 1, 1});
  // Each layer has its own time.
  CHECK(balanced_division({1, 1, 1, 1, 4}, 2) == std::vector<int>{4, 1});
  CHECK(balanced_division({4, 1, 1, 1, 1}, 2) == std::vector<int>{1, 4});
}

TEST_CASE("layer divisions: slower devices have fewer layers") {
  placement const line = linear(devices{3});
  // A device that takes three times as long gets a third.
  CHECK(balanced_division(14, {1, 1, 3}, 0, line) == std::vector<int>{6, 6, 2});
  CHECK(balanced_division(5, {9, 1, 1}, 0, line) == std::vector<int>{1, 2, 2});
  // If two devices would end at the same time, the one with less work so far gets the layer.
  CHECK(balanced_division(5, {2, 1}, 0, linear(devices{2})) == std::vector<int>{2, 3});
  CHECK(balanced_division(7, {1, 1, 1}, 1, line) == balanced_division(7, 1, 1, line));
  std::vector<int> const even{6, 6, 2};
  // One kind has more by as much as the other has less.
  CHECK(shifted_division(even, 1, {0, 1}, {1, 1, 3}, 0, line).empty());  // none would be left
  CHECK(shifted_division(even, -1, {0, 1}, {1, 1, 3}, 0, line) == std::vector<int>{5, 5, 4});
  CHECK(shifted_division(even, 2, {2}, {1, 1, 3}, 0, line) == std::vector<int>{5, 5, 4});
  CHECK(shifted_division(even, -1, {2}, {1, 1, 3}, 0, line) == std::vector<int>{7, 6, 1});
  CHECK(shifted_division(even, -2, {2}, {1, 1, 3}, 0, line).empty());
  CHECK(shifted_division(even, 1, {0, 1, 2}, {1, 1, 3}, 0, line).empty());
}

}  // namespace

TEST_CASE("layer divisions need a layer for each stage") {
  CHECK_BREAKS(parameter_is_at_least, balanced_division(2, 1, 0, linear(devices{3})));
}
