#include "options/shared_costs.hpp"

#include <ashlar/study/compare.hpp>

#include <fmt/core.h>

namespace tool {

std::optional<shared_costs> share_costs(cost_options const& o, long long p, long long m,
                                        ashlar::schedule const& s) {
  if (!o.stages_from().empty() || !is_chain(s.graph)) return std::nullopt;
  ashlar::divided_model const model{.cost = costs_of(o, p, m),
                                    .piece_count = static_cast<int>(p),
                                    .causal = causal_share_of(o.causal)};
  if (model.cost.passes.stages() != 0) return std::nullopt;
  int const parts = static_cast<int>(s.micro_batch_count() / m);
  if (parts > 1 && model.cost.passes.micro_batches() != 0)
    throw usage_error("--per-micro-batch has no effect on micro-batches that are taken in parts");
  ashlar::stage_costs made = costs_of_stages(model, s, parts, ashlar::devices{static_cast<int>(p)});
  shared_costs all{std::move(made.cost), scale_of(o), {}};
  all.scale.ticks_per_unit = ashlar::saturating_product(all.scale.ticks_per_unit, made.unit);
  if (s.stage_count() != p)
    all.words = fmt::format("costs are of 1/{} of the model, and a stage is 1/{}", p, s.stage_count());
  if (parts > 1)
    all.words += fmt::format("{}costs are of whole micro-batches, and a pass takes 1/{}",
                             all.words.empty() ? "" : "; ", parts);
  return all;
}

}  // namespace tool
