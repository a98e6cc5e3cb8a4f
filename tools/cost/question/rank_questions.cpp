#include <ashlar/core/sort.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stack.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace ashlar::cost {

namespace rank_questions_detail {

inline std::vector<int> joined(std::vector<int> a, std::vector<int> const& b) {
  a.insert(a.end(), b.begin(), b.end());
  merge_sort(a, [](int x, int y) { return x < y; });
  std::vector<int> once;
  for (int each : a)
    if (once.empty() || once.back() != each) once.push_back(each);
  return once;
}

// The program that stack_of() derives, by name.
inline program_kind program_of(question const& q) {
  if (q.program.kind != program_kind::automatic) return q.program.kind;
  return stack_of(q).program;
}

}  // namespace rank_questions_detail

std::vector<int> kinds_of_rank(question const& q, int rank) {
  std::vector<int> made;
  long long const size = q.cluster.device_count() / q.layout.pipeline;
  long long first = 0;
  for (std::size_t k = 0; k < q.cluster.kinds.size(); ++k) {
    long long const end = first + q.cluster.kinds[k].devices;
    if (first < (rank + 1) * size && rank * size < end) made.push_back(static_cast<int>(k));
    first = end;
  }
  return made;
}

rank_questions::rank_questions(question const& q) : q_(q) {
  if (!q.cluster.has_several_kinds()) {
    asked_.push_back(&q);
    known_.push_back({{0}});
    numbers_.assign(static_cast<std::size_t>(q.layout.pipeline), 0);
    return;
  }
  for (int rank = 0; rank < q.layout.pipeline; ++rank)
    numbers_.push_back(add(kinds_of_rank(q, rank), false));
}

std::vector<question const*> rank_questions::of_stages(placement const& where) {
  std::vector<question const*> all;
  for (int stage = 0; stage < where.stage_count(); ++stage) {
    std::vector<int> kinds;
    for (int route = 0; route < where.route_count(); ++route)
      kinds = rank_questions_detail::joined(std::move(kinds),
                                            known_[number_of(where.device_of(route, stage))].kinds);
    all.push_back(asked_[add(std::move(kinds), false)]);
  }
  return all;
}

question const& rank_questions::between(int rank, int other) {
  std::vector<int> const &a = known_[number_of(rank)].kinds, &b = known_[number_of(other)].kinds;
  if (a == b) return of(rank);
  return *asked_[add(rank_questions_detail::joined(a, b), true)];
}

std::size_t rank_questions::add(std::vector<int> kinds, bool apart) {
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (known_[i].kinds == kinds && known_[i].apart == apart) return i;
  question& made = *made_.emplace_back(std::make_unique<question>(q_));
  made.cluster = slowest_of(q_.cluster, kinds);
  if (apart) made.cluster.device().domain = made.cluster.device().per_node = 1;
  if (q_.model.has_measured_layers() && kinds.size() > 1) {
    std::vector<std::string> names;
    for (int each : kinds) names.push_back(q_.cluster.kinds[static_cast<std::size_t>(each)].name);
    made.model = slowest_measured(q_.model, names);
  }
  made.program.kind = rank_questions_detail::program_of(q_);
  known_.push_back({std::move(kinds), apart});
  asked_.push_back(&made);
  return known_.size() - 1;
}

}  // namespace ashlar::cost
