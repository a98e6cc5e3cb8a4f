#include "options/lowering_options.hpp"

#include "command.hpp"
#include "options/choice.hpp"
#include "options/limits.hpp"
#include "options/number_option.hpp"
#include <ashlar/program/names.hpp>

#include <map>
#include <string>

namespace tool {

void add_sharing_options(CLI::App& command, lowering_options& o) {
  using namespace ashlar;
  add_number(command, "--data-ranks", o.data_ranks, 1, most_data_ranks,
             "pipelines that run side by side and reduce gradients together");
  std::map<std::string, sharding_level> levels;
  for (sharding_level const level :
       {sharding_level::none, sharding_level::optimizer, sharding_level::gradients,
        sharding_level::weights, sharding_level::full})
    levels.emplace(name_of(level), level);
  add_choice<sharding_level>(command, "--sharding", o.rest.sharding, levels,
                             "what data-parallel ranks keep in shards: none (default): nothing; "
                             "optimizer: its state, and weights between steps; gradients: these, too; "
                             "weights: they are gathered and released, but gradients are whole and "
                             "reduced once; full: all");
  add_number(command, "--weight-buffers", o.weight_buffers, 1, most_passes,
             "buffers per device for gathered weights (--sharding full, weights) and for gradients "
             "(full, gradients)");
}

void add_order_options(CLI::App& command, lowering_options& o) {
  using ashlar::gradient_reduction;
  add_choice<gradient_reduction>(
      command, "--reduction", o.rest.reduction,
      {{"at-end", gradient_reduction::at_end},
       {"eager", gradient_reduction::eager},
       {"eager-middle-last", gradient_reduction::eager_middle_last}},
      "when gradients are reduced: each as soon as it is complete (eager, the "
      "default), all after the device's last pass (at-end), or eagerly except "
      "for the middle stages, which come last (eager-middle-last)");
  add_number(command, "--prefetch", o.prefetch, 0, most_passes,
             "how many passes ahead weights are gathered, where a buffer is free");
}

namespace {

std::map<std::string, ashlar::transfer_lanes> lanes_by_word() {
  return {lane_choices.begin(), lane_choices.end()};
}

}  // namespace

void add_lanes_option(CLI::App& command, ashlar::transfer_lanes& lanes) {
  add_choice(
      command, "--lanes", lanes, lanes_by_word(),
      "transfer lanes: one per device (default), one per peer, one per peer and direction, or one "
      "for activations and one for gradients");
}

void add_lanes_option(CLI::App& command, std::optional<ashlar::transfer_lanes>& lanes) {
  add_choice(command, "--lanes", lanes, lanes_by_word(),
             "simulates the waits of transfers that share a lane: one per device, as in runs whose "
             "transfers block, one per peer, one per peer and direction, or one for activations and one "
             "for gradients (default: no transfer is in another's way)");
}

void add_tying_option(CLI::App& command, lowering_options& o) {
  command.add_flag("--tie-embeddings", o.tied,
                   "the first stage's embedding and the last one's head are one matrix: each of their "
                   "devices has a copy, and their gradients are summed");
}

void add_step_option(CLI::App& command, lowering_options& o) {
  using ashlar::optimizer_step;
  add_choice<optimizer_step>(
      command, "--optimizer-step", o.rest.step,
      {{"none", optimizer_step::none},
       {"at-end", optimizer_step::at_end},
       {"after-norm", optimizer_step::after_norm}},
      "whether the program ends with the optimizer's step, alone or after the norm "
      "of all gradients (default: none; train with --backend cuda: after-norm)");
}

void add_lowering_options(CLI::App& command, lowering_options& o) {
  add_sharing_options(command, o);
  add_order_options(command, o);
  add_step_option(command, o);
}

ashlar::lower_options lowering_of(lowering_options const& o, ashlar::stage_graph const& graph) {
  if (o.rest.sharding != ashlar::sharding_level::none && o.data_ranks == 1)
    throw usage_error("--sharding needs others to share with: --data-ranks of 2 or more");
  ashlar::lower_options lowering = o.rest;
  lowering.data_ranks = static_cast<int>(o.data_ranks);
  lowering.weight_buffers = static_cast<int>(o.weight_buffers);
  lowering.prefetch = static_cast<int>(o.prefetch);
  if (!o.tied) return lowering;
  if (graph.has_shards())
    throw usage_error(
        "--tie-embeddings: the embedding lies on one device, but the output layer in shards on several");
  lowering.shared_parameters.emplace_back(1, 0);
  if (graph.count() > 1) lowering.shared_parameters[0].push_back(graph.count() - 1);
  return lowering;
}

}  // namespace tool
