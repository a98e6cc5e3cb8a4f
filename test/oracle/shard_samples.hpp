// Programs in which all devices have a shard of the last layer.
#pragma once

#include "oracle/samples.hpp"
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/catalog/vocabulary_entries.hpp>

#include <string>
#include <tuple>
#include <vector>

namespace oracle {

// Layers as published, split, recomputed, sharded over ranks, and with several shards and several stages
// a device.
inline std::vector<sample> layers_in_shards() {
  using namespace ashlar;
  std::vector<sample> all;
  auto const add = [&](std::string const& name, schedule const& s, lower_options options = {}) {
    for (auto lanes : {transfer_lanes::one, transfer_lanes::one_a_peer}) {
      options.lanes = lanes;
      all.push_back({name, lower(s, options)});
    }
  };
  for (auto [p, m] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 1}})
    for (catalog::entry const& e : catalog::vocabulary_entries) {
      std::string const name = e.name + (" p=" + std::to_string(p)) + " m=" + std::to_string(m);
      catalog::shape const shape{devices{p}, micro_batches{m}};
      add(name, e.make(shape));
      block const one = e.block_of(shape);
      add(name + ", split", split_backward(one) | repeat(shape.m) | squeeze());
      if (p > 2) continue;
      add(name + ", recompute", recompute(one) | repeat(shape.m) | squeeze());
      add(name + ", sharded", e.make(shape),
          {.data_ranks = 2, .sharding = sharding_level::full, .step = optimizer_step::after_norm});
    }
  // Three shards of two stages on two devices, one after the other.
  for (auto gradients : {shard_gradient::of_backward, shard_gradient::of_forward}) {
    block const b =
        make_block(make_placement(devices{2}, stages{5}, [](int s) { return s % 2; }), {}, 12,
                   {pass_kind::forward, pass_kind::backward},
                   [](pass_kind kind, int s) { return tick{kind == pass_kind::forward ? s : 10 - s}; })
        | with_graph(catalog::chain_with_shards(stages{2}, 3, gradients));
    add("three shards", b | repeat(micro_batches{2}) | squeeze());
  }
  return all;
}

}  // namespace oracle
