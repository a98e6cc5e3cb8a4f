// One device's order, where it has a stage on two ways: those of a V, or of the two directions of a
// bidirectional placement.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar::catalog {

// A way on a device: its stage, the first of its micro-batches, and how many of its passes are written.
struct way {
  int stage = 0;
  int first = 0;
  int forwards = 0;
  int backwards = 0;
};

// Writes an order pass by pass. On each way micro-batches come in turn; weight passes wait in one queue
// for both ways, and leave it as they came.
class two_way_order {
 public:
  // Makes the order for `count` micro-batches: passes of others are left out, also of pairs.
  constexpr explicit two_way_order(int count) : count_(count) {
    order_.reserve(5 * static_cast<std::size_t>(count));
  }

  // Each adds a pass of the next micro-batch of its way.
  constexpr void forward(way& w) { add(next_forward(w)); }
  // Adds a backward of input and weights at once.
  constexpr void backward(way& w) { add(next_backward(pass_kind::backward, w)); }
  // Adds the backward of the input; that of the weights waits.
  constexpr void input(way& w) { add(next_input(w)); }
  constexpr void weight() { add(next_weight()); }
  // Adds a pair: a forward, and one of these.
  constexpr void forward_and_backward(way& ahead, way& back) {
    pass const what = next_forward(ahead);
    add(what, next_backward(pass_kind::backward, back));
  }
  constexpr void forward_and_input(way& ahead, way& back) {
    pass const what = next_forward(ahead);
    add(what, next_input(back));
  }
  constexpr void forward_and_weight(way& ahead) {
    pass const what = next_forward(ahead);
    add(what, next_weight());
  }

  constexpr std::vector<time_slot> written() && { return std::move(order_); }

 private:
  constexpr pass next_forward(way& w) { return {pass_kind::forward, w.stage, w.first + w.forwards++}; }
  constexpr pass next_backward(pass_kind kind, way& w) {
    return {kind, w.stage, w.first + w.backwards++};
  }
  constexpr pass next_input(way& w) {
    pass const input = next_backward(pass_kind::backward_input, w);
    weights_.push_back({pass_kind::backward_weight, input.stage, input.micro_batch});
    return input;
  }
  constexpr pass next_weight() { return weights_[weights_done_++]; }
  constexpr void add(pass what) {
    if (what.micro_batch < count_) order_.push_back({what});
  }
  constexpr void add(pass what, pass beside) {
    if (what.micro_batch < count_ && beside.micro_batch < count_)
      order_.push_back({what, 0, beside});
    else
      add(what.micro_batch < count_ ? what : beside);
  }

  int count_;
  std::vector<time_slot> order_;
  dynamic_array<pass> weights_;  // still to do from weights_done_ on
  std::size_t weights_done_ = 0;
};

}  // namespace ashlar::catalog
