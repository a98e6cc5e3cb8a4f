// How a model lies on devices, and in which order they run its passes.
#pragma once

#include <ashlar/catalog/entries.hpp>
#include <ashlar/cost/layout/offloading.hpp>
#include <ashlar/cost/layout/recomputation.hpp>
#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/schedule/schedule.hpp>

#include <optional>
#include <variant>
#include <vector>

namespace ashlar::cost {

// State that data ranks shard: ZeRO-1, ZeRO-2 (beside a pipeline, weights stay whole), and ZeRO-3 or
// FSDP.
enum class sharding : unsigned char { none, optimizer, gradients, full };

// One forward, one backward, with virtual stages interleaved. The time of this order has a closed form.
struct closed_form {
  friend constexpr bool operator==(closed_form, closed_form) = default;
};

// An order of passes: the closed form, a schedule of the catalog, or your own.
using pass_order = std::variant<closed_form, catalog::entry const*, schedule>;

// The ranks of each dimension, and what lies on them when.
struct layout {
  int micro_batch = 1;  // sequences
  // Ranks of each dimension; `chunks` are the virtual stages of a pipeline rank.
  int tensor = 1, pipeline = 1, chunks = 1, context = 1, expert = 1, expert_tensor = 1, data = 1;
  cost::sharding sharding = cost::sharding::none;
  // This many neighbours among the data and context ranks shard the state; each other group of them has
  // a copy: HSDP of PyTorch, MiCS of DeepSpeed, optimizer instances of Megatron-Core. 0: all ranks
  // shard.
  int shard_ranks = 0;
  // This many ranks together hold all weights in 16 bits beside the shards, for backwards to gather:
  // ZeRO++'s hpZ. 0: backwards gather the shards.
  int weight_ranks = 0;
  recomputation recompute = recomputation::none;
  chosen_layers recompute_in;
  offloading offload;
  // The layers of each virtual stage; empty: divided evenly.
  std::vector<stage> stages;
  // Losses and predictions of further tokens may be on several stages; for dealing, not for `stages`.
  bool spreads_losses = false;
  // Embedding and loss count as a layer each when layers are divided evenly.
  bool counts_ends = false;
  // Pipeline ranks are nearer to each other than data ranks: Megatron-LM's --use-tp-pp-dp-mapping.
  // Otherwise they are furthest apart.
  bool pipeline_inside = false;
  pass_order order;
  // The lanes that a device's transfers share: then they wait for each other, and each for its other
  // end. None: no transfer is in another's way.
  std::optional<transfer_lanes> lanes;

  // Whether the order is the one that has a closed form.
  bool is_usual() const { return std::holds_alternative<closed_form>(order); }
  // Whether transfers may wait for each other, which no closed form knows.
  bool has_lanes() const { return lanes && pipeline > 1; }

  // The order, if it is the catalog's, or your own; else null. The order with a closed form is the
  // catalog's, too, where it has to be executed.
  catalog::entry const* published() const {
    if (is_usual() && has_lanes()) return catalog::find(chunks == 1 ? "1f1b" : "depth-first");
    auto const* const found = std::get_if<catalog::entry const*>(&order);
    return found == nullptr ? nullptr : *found;
  }
  schedule const* own_order() const { return std::get_if<schedule>(&order); }

  // Whether the passes are executed, because their time has no closed form.
  bool is_executed() const { return !is_usual() || has_lanes(); }

  // The recomputation in the layers that predict further tokens.
  recomputation recompute_in_predictor() const {
    return recompute_in.are_all() ? recompute : recomputation::none;
  }

  // Ranks that hold the same parameters, apart from experts.
  double replicas() const { return 1.0 * data * context; }

  // Data and context ranks that shard the state named by `sharding`; and the number of its copies.
  double sharing_ranks() const { return shard_ranks > 0 ? shard_ranks : replicas(); }
  double copies_of_shards() const { return replicas() / sharing_ranks(); }

  // Ranks that hold the same experts; and the number of them that shard their state.
  double expert_replicas() const {
    double const ranks = replicas() * tensor / (1.0 * expert * expert_tensor);
    return ranks > 1 ? ranks : 1;
  }
  double expert_sharing_ranks() const { return expert_replicas() / copies_of_shards(); }

  friend bool operator==(layout const&, layout const&) = default;
};

}  // namespace ashlar::cost
