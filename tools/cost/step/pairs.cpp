#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/part_costs.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/step/pairs.hpp>
#include <ashlar/cost/step/tower_passes.hpp>

#include <cstddef>
#include <utility>

namespace ashlar::cost {

namespace pairs_detail {

inline constexpr double exchange_units = 20;  // multiprocessors

// The two parts of a layer, or the head as a second part without a mixer.
struct halves {
  stage_passes mix, feed;
};

inline halves halves_of(question const& q, layer const& l, recomputation again, gradient_kind takes,
                        constants const& c) {
  return {passes_of_layer(q, {.mix = l.mix, .cross = l.cross}, again, takes, c),
          passes_of_layer(q, {.feed = l.feed}, again, takes, c)};
}

inline std::vector<halves> halves_of_stage(question const& q, stage const& s, constants const& c) {
  int const first_trained = q.model.first_trained();
  std::vector<halves> all;
  for (std::size_t i = 0; i < q.model.towers.size() && s.has_embedding; ++i)
    all.push_back({passes_of_tower(q, i, c), {}});
  for (int i = s.first; i < s.first + s.count; ++i)
    all.push_back(
        halves_of(q, q.model.at(i),
                  q.layout.recompute_in.have(i, s.first) ? q.layout.recompute : recomputation::none,
                  q.model.gradients_of(i, first_trained), c));
  for (int i = 0; i < s.predictions; ++i)
    all.push_back(
        halves_of(q, q.model.predictor, q.layout.recompute_in_predictor(), gradient_kind::all, c));
  for (int i = 0; i < losses_of(q.model, s); ++i) all.push_back({{}, passes_of_head(q, c)});
  return all;
}

// Rounds to ticks, capped so that sums cannot overflow.
inline tick ticks_of(double seconds, double one_tick) {
  constexpr double most = 1e12;
  double const ticks = seconds / one_tick + 0.5;
  return ticks >= 1 ? static_cast<tick>(min_of(ticks, most)) : 0;
}

// Writes the parts that take time.
class part_writer {
 public:
  part_writer(std::vector<pass_part>& parts, double one_tick, double units)
      : parts_(parts), one_tick_(one_tick), lost_(exchange_units / units) {}

  // `moves`: seconds of an exchange that occupies multiprocessors meanwhile.
  void compute(double seconds, double moves, bool of_weights = false) {
    add(part_resource::compute, seconds + lost_ * moves, of_weights);
  }
  void exchange(double seconds) { add(part_resource::exchange, seconds, false); }

 private:
  void add(part_resource on, double seconds, bool of_weights) {
    tick const ticks = ticks_of(seconds, one_tick_);
    if (ticks > 0) parts_.push_back({.on = on, .duration = ticks, .of_weights = of_weights});
  }

  std::vector<pass_part>& parts_;
  double one_tick_, lost_;
};

inline double computed(pass_terms const& p) { return p.on_device() - p.expert; }

// The share of the backward that this kind of pass does.
inline double share_of(stage_passes const& p, pass_kind backward) {
  double const all = p.backward.on_device(), weights = all > 0 ? p.backward.weights / all : 0;
  return backward == pass_kind::backward         ? 1
         : backward == pass_kind::backward_input ? 1 - weights
                                                 : weights;
}

}  // namespace pairs_detail

stage_parts parts_in_pairs(question const& q, stage const& s, constants const& c, double one_tick) {
  stage_parts made;
  pairs_detail::part_writer ahead(made.forward, one_tick, q.cluster.device().units),
      back(made.backward, one_tick, q.cluster.device().units);
  std::vector<pairs_detail::halves> const all = pairs_detail::halves_of_stage(q, s, c);
  for (pairs_detail::halves const& each : all) {
    pass_terms const &mix = each.mix.forward, &feed = each.feed.forward;
    double const move = feed.expert / 2;
    ahead.compute(pairs_detail::computed(mix), move);
    ahead.exchange(move);
    ahead.compute(pairs_detail::computed(feed), move);
    ahead.exchange(move);
  }
  for (std::size_t i = all.size(); i-- > 0;) {
    pass_terms const &mix = all[i].mix.backward, &feed = all[i].feed.backward;
    double const move = feed.expert / 2;
    back.exchange(move);
    back.compute(pairs_detail::computed(feed) - feed.weights, move);
    back.compute(feed.weights, 0, true);
    back.exchange(move);
    back.compute(pairs_detail::computed(mix) - mix.weights, move);
    back.compute(mix.weights, 0, true);
  }
  return made;
}

pair_costs pairs_of(question const& q, std::vector<stage> const& stages,
                    std::vector<stage_passes> const& passes, constants const& c, double one_tick) {
  bool exchanges = false;
  for (stage_passes const& s : passes) exchanges = exchanges || s.forward.expert > 0;
  if (!exchanges || !q.measured.stages.empty() || q.model.has_measured_layers()) return {};
  part_costs parts{.stages = {},
                   .how = q.program.delays_weights ? braiding::in_turn_delayed : braiding::in_turn};
  rank_questions on(q);
  std::vector<question const*> const asked = on.of_stages(placement_of(q));
  for (std::size_t s = 0; s < stages.size(); ++s)
    parts.stages.push_back(parts_in_pairs(*asked[s], stages[s], c, one_tick));
  pair_costs const braids = costs_of(parts).overlapped;
  std::vector<tick> all;
  auto const count = static_cast<int>(stages.size());
  for (int ahead = 0; ahead < count; ++ahead)
    for (int behind = 0; behind < count; ++behind)
      for (pass_kind const kind : pair_costs::backwards) {
        stage_passes const &first = passes[static_cast<std::size_t>(ahead)],
                           &second = passes[static_cast<std::size_t>(behind)];
        double const share = pairs_detail::share_of(second, kind);
        double const launching = first.forward.host + share * second.backward.host;
        double const alone = first.forward.seconds()
                             + (kind == pass_kind::backward          ? second.backward.seconds()
                                : kind == pass_kind::backward_weight ? second.weight_seconds()
                                                                     : second.input_seconds());
        double const braid = one_tick * static_cast<double>(braids.of(ahead, kind, behind));
        double const beside = first.forward.sharding + first.forward.offload
                              + share * (second.backward.sharding + second.backward.offload);
        double const seconds = min_of(alone, max_of(braid, launching) + beside);
        all.push_back(max_of<tick>(1, pairs_detail::ticks_of(seconds, one_tick)));
      }
  return pair_costs::by_stage(std::move(all), count);
}

}  // namespace ashlar::cost
