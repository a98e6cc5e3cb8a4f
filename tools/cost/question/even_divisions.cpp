#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/even_divisions.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

std::vector<stage> deal_evenly(architecture const& model, layout const& sizes) {
  int const count = sizes.pipeline * sizes.chunks, layers = model.layer_count(),
            end = model.has_tables() ? 1 : 0;
  std::vector<stage> all;
  int first = 0;
  for (int s = 0; s < count; ++s) {
    // Both ends count as a layer.
    int const all_parts = layers + 2 * end, extra = all_parts % count;
    int here = all_parts / count + (s >= 1 && s <= extra ? 1 : 0);
    if (s == 0) here -= end;
    if (s == count - 1) here -= end;
    all.push_back({.first = first,
                   .count = here,
                   .has_embedding = s == 0,
                   .has_head = s == count - 1,
                   .predictions = s == count - 1 ? model.predictions : 0});
    first += here;
  }
  return all;
}

stage stage_of_parts(architecture const& model, int first, int end) {
  int const layers = model.layer_count(), parts = model.part_count(), table = model.has_tables() ? 1 : 0,
            predictions_at = model.predictions > 0 ? parts - 1 - table : -1;
  int const from = min_of(max_of(first - table, 0), layers), to = min_of(max_of(end - table, 0), layers);
  bool const predicts = first <= predictions_at && predictions_at < end;
  return {.first = from,
          .count = to - from,
          .has_embedding = first == 0,
          .has_head = end == parts,
          .predictions = predicts ? model.predictions : 0};
}

std::vector<stage> deal_in_proportion(architecture const& model, std::vector<double> const& seconds,
                                      std::vector<double> const& shares) {
  int const parts = static_cast<int>(seconds.size()), count = static_cast<int>(shares.size());
  double all = 0, whole = 0;
  for (double each : seconds) all += each;
  for (double each : shares) whole += each;
  std::vector<stage> made;
  double until = 0, target = 0;
  for (int s = 0, first = 0; s < count; ++s) {
    target += shares[static_cast<std::size_t>(s)] / whole * all;
    int end = first;
    for (int most = s + 1 == count ? parts : parts - (count - 1 - s); end < most; ++end) {
      double const then = until + seconds[static_cast<std::size_t>(end)];
      bool const is_last = s + 1 == count, must = end == first;
      if (!is_last && !must && std::fabs(then - target) >= std::fabs(until - target)) break;
      until = then;
    }
    made.push_back(stage_of_parts(model, first, end));
    first = end;
  }
  return made;
}

std::vector<std::vector<stage>> deals_in_even_rounds(architecture const& model, layout const& sizes) {
  int const p = sizes.pipeline, v = sizes.chunks, count = p * v, layers = model.layer_count();
  std::vector<std::vector<stage>> all;
  auto const deal = [&](int base, int longer, int first, int last) {
    std::vector<stage> made;
    int so_far = 0;
    for (int s = 0; s < count; ++s) {
      bool const is_last = s == count - 1;
      int const here = s == 0 ? first : is_last ? last : base + (s / p < longer ? 1 : 0);
      made.push_back({.first = so_far,
                      .count = here,
                      .has_embedding = s == 0,
                      .has_head = is_last,
                      .predictions = is_last ? model.predictions : 0});
      so_far += here;
    }
    all.push_back(made);
  };
  for (int base = 1; base * (count - 2) <= layers; ++base)
    for (int longer = 0; longer < v; ++longer) {
      int const ends = layers - base * (count - 2) - longer * p + (longer > 0 ? 1 : 0);
      int const most_first = base + (longer > 0 ? 2 : 1), most_last = base + 1;
      for (int first = max_of(0, ends - most_last); first <= min_of(ends, most_first); ++first)
        deal(base, longer, first, ends - first);
    }
  return all;
}

}  // namespace ashlar::cost
