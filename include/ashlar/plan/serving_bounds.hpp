// Lower bounds for layers on a run of devices, which say where the search for a serving plan need not
// look.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/choose.hpp>
#include <ashlar/plan/serving.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Bounds of three numbers, each as if the others did not matter.
struct serving_bound {
  tick sum = max_tick;      // of all times and penalties
  tick prefill = max_tick;  // of the slowest device
  tick decode = max_tick;

  constexpr bool is_possible() const { return sum < max_tick; }

  friend constexpr bool operator==(serving_bound const&, serving_bound const&) = default;
};

// Layers before one on the devices before another, and layers from one on: exact for each of the three
// numbers under the limits on memory, hence together a bound. O(devices * layers^2) choices.
class serving_bounds {
 public:
  constexpr explicit serving_bounds(serving_problem const& problem)
      : problem_(problem), p_(problem.device_count()), count_(problem.layer_count()) {
    fill_stages();
    auto const cells = static_cast<std::size_t>((p_ + 1) * (count_ + 1));
    before_ = after_ = dynamic_array<serving_bound>(cells);
    before_[cell(0, 0)] = after_[cell(p_, count_)] = {0, 0, 0};
    for (int d = 0; d < p_; ++d)
      for (int from = 0; from <= count_; ++from)
        for (int to = from; to <= count_; ++to)
          improve(before_[cell(d + 1, to)], before_[cell(d, from)], stage(d, from, to));
    for (int d = p_; d-- > 0;)
      for (int from = 0; from <= count_; ++from)
        for (int to = from; to <= count_; ++to)
          improve(after_[cell(d, from)], after_[cell(d + 1, to)], stage(d, from, to));
  }

  // The first `layers` layers on the first `devices` devices.
  constexpr serving_bound const& before(int device_count, int layers) const {
    return before_[cell(device_count, layers)];
  }
  // The layers from `layer` on, on the devices from `device` on.
  constexpr serving_bound const& after(int device, int layer) const {
    return after_[cell(device, layer)];
  }

 private:
  constexpr std::size_t cell(int device, int layer) const {
    return static_cast<std::size_t>(device * (count_ + 1) + layer);
  }
  constexpr serving_bound stage(int device, int from, int to) const {
    if (from == to) {
      bool const may_be_empty = device > 0 && device < p_ - 1;
      return may_be_empty ? serving_bound{0, 0, 0} : serving_bound{};
    }
    return nth(stages_, (device * count_ + from) * count_ + to - 1);
  }

  // Of layers from .. to - 1 alone on a device. Wider runs need more memory: the first that does not fit
  // is the last.
  constexpr void fill_stages() {
    stages_ = dynamic_array<serving_bound>(static_cast<std::size_t>(p_ * count_ * count_));
    for (int d = 0; d < p_; ++d)
      for (int from = 0; from < count_; ++from) {
        std::vector<std::vector<variant>> sums, prefills, decodes;
        for (int to = from; to < count_; ++to) {
          sums.emplace_back(), prefills.emplace_back(), decodes.emplace_back();
          for (layer_variant const& v : problem_.of(d, to)) {
            sums.back().push_back(v.sum());
            prefills.back().push_back({v.times.prefill, v.memory});
            decodes.back().push_back({v.times.decode, v.memory});
          }
          byte_count const limit = nth(problem_.limit, d);
          choice const least = choose(sums, limit);
          if (least.missing > 0) break;
          nth(stages_, (d * count_ + from) * count_ + to) = {
              least.what.cost(), choose(prefills, limit).what.time, choose(decodes, limit).what.time};
        }
      }
  }

  static constexpr void improve(serving_bound& best, serving_bound const& rest,
                                serving_bound const& more) {
    if (!rest.is_possible() || !more.is_possible()) return;
    best.sum = min_of(best.sum, rest.sum + more.sum);
    best.prefill = min_of(best.prefill, max_of(rest.prefill, more.prefill));
    best.decode = min_of(best.decode, max_of(rest.decode, more.decode));
  }

  serving_problem const& problem_;
  int p_, count_;
  dynamic_array<serving_bound> stages_, before_, after_;
};

}  // namespace ashlar
