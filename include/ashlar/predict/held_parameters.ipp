// Definitions of held_parameters.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/predict/held_parameters.hpp>

#include <cstddef>

namespace ashlar::predict {

namespace held_parameters_detail {

// Norms and biases are on every tensor rank.
inline void add(question const& q, layer const& l, double times, held_parameters& held) {
  architecture const& a = q.model;
  double split = mixer_matrices(a, l.mix);
  if (l.feed.kind == feed_forward_kind::dense) split += dense_matrices(a, l.feed, l.feed.width);
  if (l.feed.kind == feed_forward_kind::experts) {
    split += beside_expert_matrices(a, l.feed);
    held.expert += times * expert_parameters(a, l.feed, l.feed.experts) / q.expert / q.expert_tensor;
  }
  held.dense += times * (split / q.tensor + l.mix.beside + l.feed.beside);
}

}  // namespace held_parameters_detail

ASHLAR_INLINE held_parameters held_by_stage(question const& q, stage const& s) {
  architecture const& a = q.model;
  held_parameters held;
  for (int i = s.first; i < s.first + s.count; ++i) held_parameters_detail::add(q, a.at(i), 1, held);
  if (s.predictions > 0) {
    double const own = a.repeats ? 1 : s.predictions;
    held_parameters_detail::add(q, a.predictor, own, held);
    held.dense += 2 * a.hidden * a.hidden * own / q.tensor;
  }
  double const table = padded_vocabulary(q) * a.embedding_width() / q.tensor;
  if (s.has_embedding) held.dense += table;
  if (s.has_head && !(a.is_tied && s.has_embedding)) held.dense += table;
  return held;
}

ASHLAR_INLINE held_parameters held_by_stages(question const& q, std::vector<stage> const& stages,
                                             std::vector<int> const& numbers) {
  held_parameters held;
  for (int s : numbers) {
    held_parameters const here = held_by_stage(q, stages[static_cast<std::size_t>(s)]);
    held.dense += here.dense;
    held.expert += here.expert;
  }
  return held;
}

}  // namespace ashlar::predict
