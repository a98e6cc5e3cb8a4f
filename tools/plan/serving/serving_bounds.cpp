#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/plan/parts/choose.hpp>
#include <ashlar/plan/serving/serving_bounds.hpp>

#include <vector>

namespace ashlar {

serving_bounds::serving_bounds(serving_problem const& problem)
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

serving_bound serving_bounds::stage(int device, int from, int to) const {
  if (from == to) {
    bool const may_be_empty = device > 0 && device < p_ - 1;
    return may_be_empty ? serving_bound{0, 0, 0} : serving_bound{};
  }
  return nth(stages_, (device * count_ + from) * count_ + to - 1);
}

void serving_bounds::fill_stages() {
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

void serving_bounds::improve(serving_bound& best, serving_bound const& rest, serving_bound const& more) {
  if (!rest.is_possible() || !more.is_possible()) return;
  best.sum = min_of(best.sum, rest.sum + more.sum);
  best.prefill = min_of(best.prefill, max_of(rest.prefill, more.prefill));
  best.decode = min_of(best.decode, max_of(rest.decode, more.decode));
}

}  // namespace ashlar
