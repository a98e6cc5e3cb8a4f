// Times of a forward and a backward as a pair: one computes while the other exchanges with expert ranks.
#pragma once

#include <ashlar/core/pair_costs.hpp>
#include <ashlar/core/pass_parts.hpp>
#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>
#include <ashlar/cost/step/passes.hpp>

#include <vector>

namespace ashlar::cost {

// The parts of a stage's passes within a pair, in ticks of `one_tick` seconds. A layer computes its
// mixer, dispatches, computes its experts and combines; its backward goes the other way. Half of an
// exchange is the dispatch. Other exchanges block, as they do in a single pass. While experts exchange,
// their kernels occupy 20 multiprocessors, which computing then lacks (DeepSeek-AI 2024, section 3.2.2;
// the default of Megatron-Core's dispatcher, too).
stage_parts parts_in_pairs(question const& q, stage const& s, constants const& c, double one_tick);

// Costs for each two stages, in ticks: their parts take turns (braiding::in_turn), and the host launches
// both. No pair takes longer than its passes one after the other. Returns no costs, which means the
// same, if expert ranks exchange nothing or passes were measured. O(s^2) braids for s stages that
// differ.
pair_costs pairs_of(question const& q, std::vector<stage> const& stages,
                    std::vector<stage_passes> const& passes, constants const& c, double one_tick);

}  // namespace ashlar::cost
