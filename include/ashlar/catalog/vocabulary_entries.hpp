// The published schedules in which all devices share the output layer, by name. They stand apart from
// entries.hpp, whose stages are parts of a model that can be divided at will.
#pragma once

#include <ashlar/catalog/entry.hpp>
#include <ashlar/catalog/shape.hpp>
#include <ashlar/catalog/vocabulary.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/model/placement.hpp>
#include <ashlar/schedule/repeat.hpp>
#include <ashlar/schedule/squeeze.hpp>

#include <array>

namespace ashlar::catalog {

// Two stages a device.
constexpr diagnosis check_vocabulary_shape(shape const& s) {
  if (diagnosis const d = check_shape(s); !d.ok()) return d;
  return all_of({at_most(parameter::device_count, s.p.value, most_stages / 2),
                 at_most(parameter::micro_batch_count, s.m.value, most_runs / 2 / s.p.value)});
}

// 1F1B with the vocabulary split over the devices. Stages 0 .. p-1 of the costs are the model, stages p
// .. 2p-1 the shards of the output layer. Orders are those for the longest passes of each kind.
inline constexpr std::array vocabulary_entries{
    entry{.name = "vocab-1",
          .summary = "1F1B, output layer split by its vocabulary, two barriers a micro-batch",
          .source = "Yeung et al., Vocabulary Parallelism, 2024",
          .block_of =
              [](shape const& s) { return vocabulary_one_f_one_b(s.p, shard_gradient::of_backward); },
          .schedule_of =
              [](shape const& s) {
                return vocabulary_one_f_one_b(s.p, s.m, shard_gradient::of_backward, s.cost.passes);
              },
          .check = check_vocabulary_shape,
          .placed = placement_kind::looped},
    entry{.name = "vocab-2",
          .summary = "1F1B, output layer split by its vocabulary, one barrier a micro-batch",
          .source = "Yeung et al., Vocabulary Parallelism, 2024",
          .block_of =
              [](shape const& s) { return vocabulary_one_f_one_b(s.p, shard_gradient::of_forward); },
          .schedule_of =
              [](shape const& s) {
                return vocabulary_one_f_one_b(s.p, s.m, shard_gradient::of_forward, s.cost.passes);
              },
          .check = check_vocabulary_shape,
          .placed = placement_kind::looped},
    entry{.name = "interlaced",
          .summary = "1F1B, all devices run the split output layer at the same time",
          .source = "Lin et al., nnScaler, 2024",
          .block_of = [](shape const& s) { return interlaced_one_f_one_b(s.p); },
          .schedule_of =
              [](shape const& s) {
                return interlaced_one_f_one_b(s.p, longest_passes(s.p, s.cost.passes)) | repeat(s.m)
                       | squeeze();
              },
          .check = check_vocabulary_shape,
          .placed = placement_kind::looped},
};

}  // namespace ashlar::catalog
