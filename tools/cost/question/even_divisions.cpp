#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/question/even_divisions.hpp>

#include <cmath>
#include <cstddef>

namespace ashlar::cost {

std::vector<stage> deal_evenly(architecture const& model, layout const& sizes) {
  int const count = sizes.pipeline * sizes.chunks, layers = model.layer_count(),
            end = model.has_tables() ? 1 : 0;
  std::vector<stage> all;
  if (count > layers + 2 * end) {
    // Predictions have to be on late stages, so the last stage has what is left.
    part_chain const chain(model, sizes);
    for (int s = 0; s < count; ++s)
      all.push_back(chain.stage_of(s, s == count - 1 ? chain.count() : s + 1));
    return all;
  }
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

part_chain::part_chain(architecture const& model, layout const& sizes)
    : layers(model.layer_count()),
      tables(model.has_tables() ? 1 : 0),
      predictions(model.predictions),
      is_spread(sizes.spreads_losses && model.predictions > 0 && model.has_tables()) {}

stage part_chain::stage_of(int first, int end) const {
  // The parts of one kind, which begin at `from`, before part `until`.
  auto const before = [](int until, int from, int parts) {
    return min_of(max_of(until - from, 0), parts);
  };
  int const predictions_at = tables + layers, losses_at = predictions_at + prediction_parts();
  int const predicted = before(first, predictions_at, prediction_parts()),
            predicts = before(end, predictions_at, prediction_parts()) - predicted,
            lost = before(first, losses_at, loss_parts()),
            losses = before(end, losses_at, loss_parts()) - lost;
  int const from = before(first, tables, layers),
            of_each = is_spread ? 1 : predictions;  // predictions of a part
  return {.first = from,
          .count = before(end, tables, layers) - from,
          .has_embedding = first == 0,
          .has_head = tables > 0 ? losses > 0 : end == count(),
          .predictions = predicts * of_each,
          .losses = losses < loss_parts() ? losses : 0,
          .streams = 1 + predicted * of_each - lost};
}

std::vector<stage> part_chain::single_parts() const {
  std::vector<stage> all;
  for (int i = 0; i < count(); ++i) all.push_back(stage_of(i, i + 1));
  return all;
}

std::vector<int> part_chain::ends_of(std::vector<stage> const& all) const {
  std::vector<int> ends;
  int end = 0;
  for (stage const& s : all) {
    int const losses = !s.has_head ? 0 : s.losses > 0 ? s.losses : loss_parts();
    int const predicted = is_spread ? s.predictions : s.predictions > 0 ? 1 : 0;
    end += s.count + predicted + tables * ((s.has_embedding ? 1 : 0) + losses);
    ends.push_back(end);
  }
  return ends;
}

std::vector<stage> part_chain::stages_of(std::vector<int> const& ends) const {
  std::vector<stage> all;
  int first = 0;
  for (int end : ends) {
    all.push_back(stage_of(first, end));
    first = end;
  }
  return all;
}

std::vector<int> with_part_moved(std::vector<int> ends, int from, int to) {
  int const count = static_cast<int>(ends.size());
  if (from == to || min_of(from, to) < 0 || max_of(from, to) >= count) return {};
  for (int s = from; s < to; ++s) --ends[static_cast<std::size_t>(s)];
  for (int s = to; s < from; ++s) ++ends[static_cast<std::size_t>(s)];
  int last = 0;
  for (int end : ends) {
    if (end <= last) return {};
    last = end;
  }
  return ends;
}

std::vector<stage> deal_in_proportion(part_chain const& chain, std::vector<double> const& seconds,
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
    made.push_back(chain.stage_of(first, end));
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
