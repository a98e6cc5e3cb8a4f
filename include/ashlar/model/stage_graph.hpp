// The stage graph: which stage's output feeds which stage. All dependencies between passes come from
// here.
#pragma once

#include <ashlar/core/diagnosis.hpp>
#include <ashlar/core/ids.hpp>
#include <ashlar/core/list_view.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// One edge: the output of stage `from` is an input of stage `to`.
struct stage_edge {
  int from = 0;
  int to = 0;

  friend constexpr bool operator==(stage_edge, stage_edge) = default;
};

// Read-only access to the neighbours of stages; see stage_graph.
struct graph_view {
  list_view<int> before;
  list_view<int> after;
  int sequence_chunks = 1;

  constexpr list_view<int> predecessors(int stage) const { return slice(before, stage); }
  constexpr list_view<int> successors(int stage) const { return slice(after, stage); }

 private:
  static constexpr list_view<int> slice(list_view<int> t, int stage) {
    return {t.first + t.first[stage], t.first + t.first[stage + 1]};
  }
};

// A directed acyclic graph over stages 0 .. count-1, every edge from a lower to a higher number. Where
// sequences are cut into q chunks, micro-batches q*i .. q*i+q-1 are the chunks of one: on each stage
// their forwards need each other in order (attention looks back), their backwards in reverse. What one
// hands to the next is a value like any other (program/operands.hpp).
// Both directions are kept as indexed tables, so that a walk over neighbours is a loop over consecutive
// ints.
class stage_graph {
 public:
  constexpr stage_graph() = default;

  // Throws violation{rule::stage_edges_ascend} for an edge that leaves 0 .. count-1, does not ascend or
  // is doubled. Linear in stages and edges when the edges come in ascending order, as those of chain()
  // do.
  constexpr stage_graph(stages count, std::vector<stage_edge> edges) : count_(count.value) {
    if (count_ < 1) throw violation{{.broken = rule::counts_are_positive, .number = count_}};
    sort(edges);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      stage_edge const e = edges[i];
      if (e.from < 0 || e.to >= count_ || e.from >= e.to || (i > 0 && edges[i - 1] == e))
        throw violation{{.broken = rule::stage_edges_ascend,
                         .first = {.what = {.stage = e.from}},
                         .second = {.what = {.stage = e.to}}}};
    }
    // Sorted by (from, to), so each stage meets its neighbours of either side in ascending order.
    group(edges, &stage_edge::to, &stage_edge::from, before_);
    group(edges, &stage_edge::from, &stage_edge::to, after_);
  }

  constexpr int count() const { return count_; }
  constexpr int sequence_chunks() const { return sequence_chunks_; }

  // The same stages over sequences in q chunks. Throws violation{rule::counts_are_positive}.
  friend constexpr stage_graph in_sequence_chunks(stage_graph graph, int q) {
    if (q < 1) throw violation{{.broken = rule::counts_are_positive, .number = q}};
    graph.sequence_chunks_ = q;
    return graph;
  }

  using range = list_view<int>;
  constexpr range predecessors(int stage) const { return slice(before_, stage); }  // ascending
  constexpr range successors(int stage) const { return slice(after_, stage); }     // ascending

  // Edges are numbered from 0 in order of (from, to).
  constexpr int edge_count() const {
    return count_ == 0 ? 0 : static_cast<int>(after_.size()) - count_ - 1;
  }
  constexpr int first_edge(int from) const {
    return after_[static_cast<std::size_t>(from)] - count_ - 1;
  }
  // The number of an edge that exists.
  constexpr int edge(int from, int to) const {
    int number = first_edge(from);
    for (int after : successors(from)) {
      if (after == to) break;
      ++number;
    }
    return number;
  }

  // Valid while the graph is.
  constexpr graph_view view() const { return {view_of(before_), view_of(after_), sequence_chunks_}; }

  friend constexpr bool operator==(stage_graph const&, stage_graph const&) = default;

 private:
  // neighbours of stage s: ends[ends[s]] .. ends[ends[s + 1]], offsets first, then the neighbours
  // themselves.
  using table = std::vector<int>;

  constexpr range slice(table const& t, int stage) const {
    int const* const base = t.data();
    return {base + base[stage], base + base[stage + 1]};
  }

  static constexpr void sort(std::vector<stage_edge>& edges) {  // by insertion
    for (std::size_t i = 1; i < edges.size(); ++i)
      for (std::size_t j = i; j > 0 && precedes(edges[j], edges[j - 1]); --j) {
        stage_edge const e = edges[j];
        edges[j] = edges[j - 1];
        edges[j - 1] = e;
      }
  }
  static constexpr bool precedes(stage_edge a, stage_edge b) {
    return a.from < b.from || (a.from == b.from && a.to < b.to);
  }

  constexpr void group(std::vector<stage_edge> const& edges, int stage_edge::*key,
                       int stage_edge::*value, table& t) const {
    auto const head = static_cast<std::size_t>(count_) + 1;
    t = table(head + edges.size(), 0);
    for (stage_edge const& e : edges) ++t[static_cast<std::size_t>(e.*key) + 1];
    t[0] = static_cast<int>(head);
    for (std::size_t s = 1; s < head; ++s) t[s] += t[s - 1];
    std::vector<int> next(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(head));
    for (stage_edge const& e : edges)
      t[static_cast<std::size_t>(next[static_cast<std::size_t>(e.*key)]++)] = e.*value;
  }

  int count_ = 0;
  int sequence_chunks_ = 1;
  table before_;
  table after_;
};

// Stage s feeds stage s + 1.
constexpr stage_graph chain(stages count) {
  std::vector<stage_edge> edges;
  for (int s = 0; s + 1 < count.value; ++s) edges.push_back({s, s + 1});
  return stage_graph(count, edges);
}

}  // namespace ashlar
