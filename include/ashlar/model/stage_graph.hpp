// The stage graph: which stage's output feeds which stage. All dependencies between passes come from
// here.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/dynamic_array.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/list_view.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/core/sort.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// One edge: the output of stage `from` is an input of stage `to`.
struct stage_edge {
  int from = 0;
  int to = 0;

  friend constexpr bool operator==(stage_edge, stage_edge) = default;
};

// The number of micro-batches of a neighbour that one micro-batch of a stage meets, if they hold `other`
// and `own` units: a larger one meets all those that it consists of.
constexpr int matching_micro_batches(int own, int other) { return own > other ? own / other : 1; }

// Calls visit(micro_batch) for each micro-batch of the neighbour that this one meets, ascending.
template <class Visit>
constexpr void for_each_matching(int own, int other, int micro_batch, Visit&& visit) {
  if (other >= own) {
    visit(micro_batch - micro_batch % other);
  } else {
    for (int k = micro_batch; k < micro_batch + own; k += other) visit(k);
  }
}

// The passes that give the gradient of the input of a layer that lies in shards on several devices:
// backwards, or already forwards.
enum class shard_gradient : unsigned char { of_backward, of_forward };

// Read-only access to the neighbours of stages; see stage_graph.
struct graph_view {
  list_view<int> before;
  list_view<int> after;
  list_view<int> sizes = {};
  list_view<int> shards = {};
  int sequence_chunks = 1;
  bool has_shards = false;
  shard_gradient gradients = shard_gradient::of_backward;

  // These functions work as those of stage_graph.
  constexpr bool has_sizes() const { return sizes.size() > 0; }
  constexpr int size_of(int stage) const { return has_sizes() ? nth(sizes, stage) : 1; }
  constexpr list_view<int> predecessors(int stage) const { return slice(before.first, stage); }
  constexpr list_view<int> successors(int stage) const { return slice(after.first, stage); }
  constexpr list_view<int> shards_with(int stage) const {
    return has_shards ? slice(shards.first, stage) : shards;
  }
  constexpr list_view<int> readers(int stage) const {
    if (!has_shards) return successors(stage);
    list_view<int> const all = shards_with(stage);
    return all.empty() ? successors(stage) : all;
  }
  constexpr bool gives_gradient_early(int stage) const {
    return has_shards && gradients == shard_gradient::of_forward && !shards_with(stage).empty();
  }

 private:
  static constexpr list_view<int> slice(int const* t, int stage) {
    return {t + t[stage], t + t[stage + 1]};
  }
};

// A directed acyclic graph over stages 0 .. count-1, every edge from a lower to a higher number. If
// sequences are cut into q chunks, micro-batches q*i .. q*i+q-1 are the chunks of one sequence. On each
// stage their forwards need each other in order (attention looks back), their backwards in reverse. The
// state that one chunk hands to the next is a value like any other (program/operands.hpp). Stages may
// have micro-batches of different sizes, in units of the schedule's micro-batches. A stage of size b has
// passes only for 0, b, 2b, ..., each for b units, and one with larger micro-batches needs several of
// the stage before it. Last stages may be the shards of one layer, as of an output layer that is split
// by its vocabulary (Yeung et al., Balancing Pipeline Parallelism with Vocabulary Parallelism, 2024).
// Their forwards meet at a barrier: each backward reads the results of the forwards of all shards of the
// layer. Both directions are kept as indexed tables, so that a walk over neighbours is a loop over
// consecutive ints.
class stage_graph {
 public:
  constexpr stage_graph() = default;

  // Throws violation: rule::counts_are_positive, rule::parameter_is_at_most for more than most_stages,
  // rule::stage_edges_ascend for an edge that leaves 0 .. count-1, does not ascend or is doubled.
  // O(n log n) in edges; linear if they come in ascending order, as those of chain() do.
  constexpr stage_graph(stages count, std::vector<stage_edge> const& edges) : count_(count.value) {
    set_edges({edges.data(), edges.data() + edges.size()});
  }

  // Feeds stage s + 1 from stage s. Throws violation as the constructor does for the count. Linear.
  friend constexpr stage_graph chain(stages count) {
    must_be_few(count.value);
    dynamic_array<stage_edge> edges;
    for (int s = 0; s + 1 < count.value; ++s) edges.push_back({s, s + 1});
    stage_graph graph;
    graph.count_ = count.value;
    graph.set_edges(static_cast<dynamic_array<stage_edge>&&>(edges));
    return graph;
  }

  constexpr int count() const { return count_; }
  constexpr int sequence_chunks() const { return sequence_chunks_; }

  // Whether stages differ in the size of their micro-batches.
  constexpr bool has_sizes() const { return largest_ > 1; }
  constexpr int size_of(int stage) const { return largest_ == 1 ? 1 : nth(sizes_, stage); }
  // Whether the stage has passes for this micro-batch.
  constexpr bool runs(int stage, int micro_batch) const {
    return largest_ == 1 || micro_batch % nth(sizes_, stage) == 0;
  }
  // Whether a pass of the pipeline names a stage, and one of `micro_batch_count` that the stage runs.
  constexpr bool has(pass const& what, int micro_batch_count) const {
    return what.kind < pass_kind::work && what.stage >= 0 && what.stage < count_ && what.micro_batch >= 0
           && what.micro_batch < micro_batch_count
           && (largest_ == 1 || runs(what.stage, what.micro_batch));
  }
  // The number of micro-batches that belong together, counted from a multiple of this number: the chunks
  // of a sequence, or the largest size.
  constexpr int together() const { return largest_ == 1 ? sequence_chunks_ : largest_; }

  // Cuts sequences into q chunks. Throws violation: rule::counts_are_positive,
  // rule::micro_batch_sizes_divide for stages with sizes.
  friend constexpr stage_graph in_sequence_chunks(stage_graph graph, int q) {
    if (q < 1) refuse({.broken = rule::counts_are_positive, .number = q});
    if (q > 1 && graph.has_sizes()) refuse({.broken = rule::micro_batch_sizes_divide, .number = q});
    graph.sequence_chunks_ = q;
    return graph;
  }

  // Gives the stages micro-batches of this many units each. Throws violation: rule::tables_agree unless
  // there is one size a stage, rule::counts_are_positive, rule::micro_batch_sizes_divide unless each
  // size divides all larger ones, and for sequences in chunks, rule::shards_are_last_stages for sizes of
  // a graph with shards. Linear.
  friend constexpr stage_graph in_micro_batches(stage_graph graph, std::vector<int> sizes) {
    if (static_cast<int>(sizes.size()) != graph.count_)
      refuse(wrong_size(ashlar::table::micro_batch_sizes, sizes.size(), graph.count_));
    dynamic_array<int> found(1, 1);  // sizes so far, each a divisor of the next: no more than 31
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      int const size = sizes[s];
      site const at{.what = {.stage = static_cast<int>(s)}};
      if (size < 1) refuse({.broken = rule::counts_are_positive, .first = at, .number = size});
      if (size > 1 && graph.has_shards())
        refuse({.broken = rule::shards_are_last_stages, .first = at, .number = size});
      std::size_t above = found.size();
      while (found[above - 1] > size) --above;
      bool const divides =
          size % found[above - 1] == 0 && (above == found.size() || found[above] % size == 0);
      if (!divides || (size > 1 && graph.sequence_chunks_ > 1))
        refuse({.broken = rule::micro_batch_sizes_divide, .first = at, .number = size});
      if (found[above - 1] == size) continue;
      found.push_back(size);
      for (std::size_t i = found.size(); --i > above;) found[i] = found[i - 1];
      found[above] = size;
    }
    graph.largest_ = found.back();
    if (graph.largest_ == 1) sizes.clear();
    graph.sizes_ = table(sizes.data(), sizes.data() + sizes.size());
    return graph;
  }

  // Makes each list of stages the shards of one layer, in ascending order. Throws violation
  // {rule::shards_are_last_stages} unless nothing follows them and each is listed once, and for stages
  // with sizes.
  friend constexpr stage_graph in_shards(stage_graph graph, std::vector<std::vector<int>> const& layers,
                                         shard_gradient gradients = shard_gradient::of_backward) {
    dynamic_array<int> layer_of(static_cast<std::size_t>(graph.count_), -1);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      int last = -1;
      for (int const shard : layers[layer]) {
        if (shard <= last || shard >= graph.count_ || graph.has_sizes()
            || !graph.successors(shard).empty() || nth(layer_of, shard) >= 0)
          refuse({.broken = rule::shards_are_last_stages, .first = {.what = {.stage = shard}}});
        nth(layer_of, shard) = static_cast<int>(layer);
        last = shard;
      }
    }
    graph.shards_.clear();
    graph.has_shards_ = !layers.empty();
    graph.gradients_ = gradients;
    if (layers.empty()) return graph;
    auto const head = static_cast<std::size_t>(graph.count_) + 1;
    graph.shards_ = table(head, static_cast<int>(head));
    for (std::size_t stage = 0; stage + 1 < head; ++stage) {
      if (int const layer = layer_of[stage]; layer >= 0)
        for (int const shard : nth(layers, layer)) graph.shards_.push_back(shard);
      graph.shards_[stage + 1] = static_cast<int>(graph.shards_.size());
    }
    return graph;
  }

  using range = list_view<int>;
  // All shards of the layer that a stage is a shard of, itself among them; none for other stages.
  constexpr range shards_with(int stage) const { return has_shards_ ? slice(shards_, stage) : range{}; }
  // The stages whose passes read the activation of a stage: those after it, or all shards of its layer.
  constexpr range readers(int stage) const {
    if (!has_shards_) return successors(stage);
    range const all = shards_with(stage);
    return all.empty() ? successors(stage) : all;
  }
  constexpr bool has_shards() const { return has_shards_; }
  // Whether a stage is a shard whose forward gives the gradient of its input.
  constexpr bool gives_gradient_early(int stage) const {
    return has_shards_ && gradients_ == shard_gradient::of_forward && !shards_with(stage).empty();
  }
  constexpr shard_gradient gradients() const { return gradients_; }

  constexpr range predecessors(int stage) const { return slice(before_, stage); }  // ascending
  constexpr range successors(int stage) const { return slice(after_, stage); }     // ascending

  // Edges are numbered from 0 in order of (from, to), so those of a stage follow each other.
  constexpr int edge_count() const {
    return count_ == 0 ? 0 : static_cast<int>(after_.size()) - count_ - 1;
  }
  constexpr int first_edge(int from) const { return nth(after_, from) - count_ - 1; }
  // Links carry activations: the edges with their numbers, then those among shards.
  constexpr int link_count() const {
    return edge_count() + (has_shards_ ? static_cast<int>(shards_.size()) - count_ - 1 : 0);
  }
  constexpr int first_link(int from) const {
    return !has_shards_ || shards_with(from).empty() ? first_edge(from)
                                                     : edge_count() + nth(shards_, from) - count_ - 1;
  }
  // The number of an edge that exists. Linear in the successors of `from`.
  constexpr int edge(int from, int to) const {
    int const* const base = after_.data();  // a view takes more steps of constant evaluation
    int at = base[from];
    while (at < base[from + 1] && base[at] != to) ++at;
    return at - count_ - 1;
  }

  // Valid while the graph is.
  constexpr graph_view view() const {
    return {view_of(before_), view_of(after_), view_of(sizes_), view_of(shards_),
            sequence_chunks_, has_shards_,     gradients_};
  }

  friend constexpr bool operator==(stage_graph const&, stage_graph const&) = default;

 private:
  // The neighbours of stage s are ends[ends[s]] .. ends[ends[s + 1]], offsets first, then the neighbours
  // themselves.
  using table = dynamic_array<int>;

  constexpr range slice(table const& t, int stage) const {
    int const* const base = t.data();
    return {base + base[stage], base + base[stage + 1]};
  }

  static constexpr bool precedes(stage_edge a, stage_edge b) {
    return a.from < b.from || (a.from == b.from && a.to < b.to);
  }

  static constexpr void must_be_few(int count) {
    if (count < 1) refuse({.broken = rule::counts_are_positive, .number = count});
    must_be(at_most(parameter::stage_count, count, most_stages));
  }

  constexpr void set_edges(dynamic_array<stage_edge> edges) {
    must_be_few(count_);
    merge_sort(edges, precedes);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      stage_edge const e = edges[i];
      if (e.from < 0 || e.to >= count_ || e.from >= e.to || (i > 0 && edges[i - 1] == e))
        refuse({.broken = rule::stage_edges_ascend,
                .first = {.what = {.stage = e.from}},
                .second = {.what = {.stage = e.to}}});
    }
    // They are sorted by (from, to), so each stage meets its neighbours of either side in ascending
    // order.
    group(edges, &stage_edge::to, &stage_edge::from, before_);
    group(edges, &stage_edge::from, &stage_edge::to, after_);
  }

  constexpr void group(dynamic_array<stage_edge> const& edges, int stage_edge::*key,
                       int stage_edge::*value, table& t) const {
    auto const head = static_cast<std::size_t>(count_) + 1;
    t = table(head + edges.size(), 0);
    for (stage_edge const& e : edges) ++t[static_cast<std::size_t>(e.*key) + 1];
    t[0] = static_cast<int>(head);
    for (std::size_t s = 1; s < head; ++s) t[s] += t[s - 1];
    dynamic_array<int> next(t.data(), t.data() + head);
    for (stage_edge const& e : edges) nth(t, nth(next, e.*key)++) = e.*value;
  }

  int count_ = 0;
  int sequence_chunks_ = 1;
  int largest_ = 1;  // of the sizes
  table before_;
  table after_;
  table sizes_;   // by stage; empty: all 1
  table shards_;  // of the layer of each stage, like neighbours; empty: there are none
  bool has_shards_ = false;
  shard_gradient gradients_ = shard_gradient::of_backward;
};

// Feeds stage s + 1 from stage s. Declared once more, because no argument of it leads to the friend in
// the class.
constexpr stage_graph chain(stages count);

// Whether each stage feeds the next and no other, over whole sequences or chunks of them. Linear.
constexpr bool is_chain(stage_graph const& graph) {
  return graph == in_sequence_chunks(chain(stages{graph.count()}), graph.sequence_chunks());
}

}  // namespace ashlar
