// The inputs of a pass, and tables indexed by the results of passes. This is the one place that knows
// the data flow of training.
#pragma once

#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/pass.hpp>
#include <ashlar/model/stage_graph.hpp>

#include <cstddef>
#include <utility>

namespace ashlar {

// Calls visit(result, stage, micro_batch) for each thing that the pass needs before it starts. A stage
// without recompute passes has no `recomputed`; visitors skip results that no pass gives.
// for_each_work_input() has the inputs of work. Linear in the neighbours of the stage. The pass must
// exist.
template <class Visit>
constexpr void for_each_input(stage_graph const& graph, pass const& what, Visit&& visit) {
  // Plain pointers: begin() and end() of a view take more steps of constant evaluation.
  if (what.kind == pass_kind::forward) {
    list_view<int> const all = graph.predecessors(what.stage);
    for (int const* before = all.first; before != all.last; ++before)
      if (graph.has_sizes())
        for_each_matching(graph.size_of(what.stage), graph.size_of(*before), what.micro_batch,
                          [&](int k) { visit(result::activation, *before, k); });
      else
        visit(result::activation, *before, what.micro_batch);
    if (int const q = graph.sequence_chunks(); q > 1 && what.micro_batch % q != 0)
      visit(result::activation, what.stage, what.micro_batch - 1);
  } else if (what.kind == pass_kind::backward_weight) {
    visit(result::input_gradient, what.stage, what.micro_batch);
  } else if (what.kind == pass_kind::recompute) {
    visit(result::activation, what.stage, what.micro_batch);
  } else if (gives_input_gradient(what.kind)) {
    visit(result::activation, what.stage, what.micro_batch);
    visit(result::recomputed, what.stage, what.micro_batch);
    if (graph.has_shards())
      for (int shard : graph.shards_with(what.stage))
        if (shard != what.stage) visit(result::activation, shard, what.micro_batch);
    list_view<int> const all = graph.successors(what.stage);
    for (int const* after = all.first; after != all.last; ++after)
      if (graph.has_sizes())
        for_each_matching(graph.size_of(what.stage), graph.size_of(*after), what.micro_batch,
                          [&](int k) { visit(result::input_gradient, *after, k); });
      else
        visit(graph.gives_gradient_early(*after) ? result::activation : result::input_gradient, *after,
              what.micro_batch);
    if (int const q = graph.sequence_chunks(); q > 1 && what.micro_batch % q != q - 1)
      visit(result::input_gradient, what.stage, what.micro_batch + 1);
  }
}

// An order of passes in which each comes after all that it needs: micro-batch by micro-batch, or
// sequence by sequence; there forwards from the first stage on, recomputes, backwards from the last
// stage on, weight passes.
constexpr bool precedes(stage_graph const& graph, pass a, pass b) {
  auto const phase = [](pass_kind kind) {
    return kind == pass_kind::forward           ? 0
           : kind == pass_kind::recompute       ? 1
           : kind == pass_kind::backward_weight ? 3
                                                : 2;
  };
  int const together = graph.together();
  if (int const x = a.micro_batch / together, y = b.micro_batch / together; x != y) return x < y;
  if (int const x = phase(a.kind), y = phase(b.kind); x != y) return x < y;
  if (phase(a.kind) == 2) std::swap(a, b);
  return a.stage != b.stage ? a.stage < b.stage : a.micro_batch < b.micro_batch;
}

// One entry for each (micro-batch, stage, result), all of which are within range: nothing is checked.
template <class Entry>
class result_table {
 public:
  // Makes entries as Entry{} or `initial`.
  constexpr result_table(int stage_count, int micro_batch_count)
      : micro_batches_(static_cast<std::size_t>(micro_batch_count)),
        entries_(size(stage_count, micro_batch_count)) {}
  constexpr result_table(int stage_count, int micro_batch_count, Entry initial)
      : micro_batches_(static_cast<std::size_t>(micro_batch_count)),
        entries_(size(stage_count, micro_batch_count), initial) {}

  // The entry of a result that exists. (A function for the index would cost each call its steps.)
  constexpr Entry& at(int micro_batch, int stage, result r) {
    return entries_[(static_cast<std::size_t>(stage) * micro_batches_
                     + static_cast<std::size_t>(micro_batch))
                        * results
                    + static_cast<std::size_t>(r)];
  }
  constexpr Entry const& at(int micro_batch, int stage, result r) const {
    return entries_[(static_cast<std::size_t>(stage) * micro_batches_
                     + static_cast<std::size_t>(micro_batch))
                        * results
                    + static_cast<std::size_t>(r)];
  }

 private:
  static constexpr std::size_t size(int stage_count, int micro_batch_count) {
    return static_cast<std::size_t>(stage_count) * static_cast<std::size_t>(micro_batch_count) * results;
  }

  std::size_t micro_batches_;
  dynamic_array<Entry> entries_;  // those of a stage together, as a device uses them
};

}  // namespace ashlar
