// Orders that do not repeat a block: forwards and backwards in given sequences, one of each in turn
// after a warm-up. All starts are 0.
#pragma once

#include <ashlar/core/list_view.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::catalog {

// One device's order: `warm_up` forwards, then a forward and a backward in turn, then the backwards that
// are left. Split backwards (in `backwards` as their input passes) have their weight passes in the same
// sequence, from the backward number `weights_behind` on one after each backward, the rest at the end.
constexpr std::vector<time_slot> one_forward_one_backward(list_view<pass> forwards,
                                                          list_view<pass> backwards, std::size_t warm_up,
                                                          std::size_t weights_behind = 0) {
  std::vector<time_slot> order;
  std::size_t forward = 0, weight = 0;
  auto const add_weight = [&] {
    pass what = backwards[weight++];
    if (what.kind != pass_kind::backward_input) return;
    what.kind = pass_kind::backward_weight;
    order.push_back({what});
  };
  while (forward < warm_up && forward < forwards.size()) order.push_back({forwards[forward++]});
  for (std::size_t backward = 0; backward < backwards.size(); ++backward) {
    if (forward < forwards.size()) order.push_back({forwards[forward++]});
    order.push_back({backwards[backward]});
    if (backward >= weights_behind) add_weight();
  }
  while (weight < backwards.size()) add_weight();
  return order;
}

// `warm_up` forwards, at least k, then k backwards and k forwards in turn, as long as there are any.
// Throws violation{rule::parameter_is_at_least} for k = 0.
constexpr std::vector<time_slot> k_forwards_k_backwards(list_view<pass> forwards,
                                                        list_view<pass> backwards, std::size_t warm_up,
                                                        std::size_t k) {
  must_be(at_least(parameter::group_size, k == 0 ? 0 : 1, 1));
  std::vector<time_slot> order;
  std::size_t forward = 0;
  for (std::size_t backward = 0; backward < backwards.size(); ++backward) {
    std::size_t const until = warm_up + backward / k * k;
    while (forward < until && forward < forwards.size()) order.push_back({forwards[forward++]});
    order.push_back({backwards[backward]});
  }
  return order;
}

}  // namespace ashlar::catalog
