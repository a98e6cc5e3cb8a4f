#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/even_divisions.hpp>

namespace ashlar::cost {

std::vector<stage> deal_evenly(architecture const& model, layout const& sizes) {
  int const count = sizes.pipeline * sizes.chunks, layers = model.layer_count();
  std::vector<stage> all;
  int first = 0;
  for (int s = 0; s < count; ++s) {
    // Both ends count as a layer.
    int const all_parts = layers + 2, extra = all_parts % count;
    int here = all_parts / count + (s >= 1 && s <= extra ? 1 : 0);
    if (s == 0) --here;
    if (s == count - 1) --here;
    all.push_back({.first = first,
                   .count = here,
                   .has_embedding = s == 0,
                   .has_head = s == count - 1,
                   .predictions = s == count - 1 ? model.predictions : 0});
    first += here;
  }
  return all;
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
