// A worker as an engine sees it, without its class, so that the engine is compiled once.
#pragma once

#include <ashlar/run/contract.hpp>

#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace ashlar {

namespace run_detail {

// The verbs of a class of workers on queues of type Q; null for missing ones.
template <class Q>
struct verb_table {
  using pass_verb = void (*)(void*, Q&, frame const&);
  using parameter_verb = void (*)(void*, Q&, parameter_frame const&);

  value_layout (*layout)(void const*, value_key);
  pass_verb passes[pass_kinds];
  void (*overlapped)(void*, Q&, frame const&, frame const&);
  parameter_verb reduced, measure, optimize;
  buffer (*shard)(void*, int, int);
};

template <class W, class Q>
constexpr verb_table<Q> verbs_of() {
  verb_table<Q> t{};
  t.layout = [](void const* w, value_key key) -> value_layout {
    return static_cast<W const*>(w)->layout(key);
  };
  auto& pass = t.passes;
#define ASHLAR_PASS(verb)                                                                 \
  if constexpr (can_##verb<W, Q>)                                                         \
    pass[static_cast<std::size_t>(pass_kind::verb)] = [](void* w, Q& q, frame const& f) { \
      static_cast<W*>(w)->verb(q, f);                                                     \
    };
  ASHLAR_PASS(forward)
  ASHLAR_PASS(recompute)
  ASHLAR_PASS(backward)
  ASHLAR_PASS(backward_input)
  ASHLAR_PASS(backward_weight)
  ASHLAR_PASS(work)
#undef ASHLAR_PASS
  if constexpr (can_overlapped<W, Q>)
    t.overlapped = [](void* w, Q& q, frame const& f, frame const& b) {
      static_cast<W*>(w)->overlapped(q, f, b);
    };
#define ASHLAR_OF_PARAMETERS(verb) \
  if constexpr (can_##verb<W, Q>)  \
    t.verb = [](void* w, Q& q, parameter_frame const& f) { static_cast<W*>(w)->verb(q, f); };
  ASHLAR_OF_PARAMETERS(reduced)
  ASHLAR_OF_PARAMETERS(measure)
  ASHLAR_OF_PARAMETERS(optimize)
#undef ASHLAR_OF_PARAMETERS
  if constexpr (can_shard<W>)
    t.shard = [](void* w, int group, int replica) -> buffer {
      return static_cast<W*>(w)->shard(group, replica);
    };
  return t;
}

template <class W, class Q>
inline constexpr verb_table<Q> verb_table_of = verbs_of<W, Q>();

template <class Verb>
Verb present(Verb verb) {
  if (verb == nullptr)
    throw std::invalid_argument("the worker lacks a verb that the program needs: check_able() names it");
  return verb;
}

}  // namespace run_detail

// Refers to a worker, on queues of type Q. Its verbs are known at run time; calling a missing one throws
// std::invalid_argument (check_able refuses programs that would). A worker whose verbs are declared in a
// way that cannot be called does not compile (run/contract.hpp).
template <class Q>
class worker_ref {
 public:
  worker_ref() = default;  // to no worker
  template <worker W>
  requires(!std::is_same_v<W, worker_ref>)  // a copy refers to the same worker
      worker_ref(W& w)
      : worker_(&w), verbs_(&run_detail::verb_table_of<W, Q>) {
    require_well_declared<W, Q>();
  }

  explicit operator bool() const { return worker_ != nullptr; }

  // The worker's layout(); and its available verbs.
  value_layout layout(value_key key) const { return verbs_->layout(worker_, key); }
  bool can(pass_kind kind) const { return verb(kind) != nullptr; }
  bool can_measure() const { return verbs_->measure != nullptr; }
  bool can_optimize() const { return verbs_->optimize != nullptr; }
  bool can_shard() const { return verbs_->shard != nullptr; }
  bool is_notified() const { return verbs_->reduced != nullptr; }  // of complete gradients

  // Calls the verb of a pass. Throws std::invalid_argument if the worker has none.
  void compute(Q& q, frame const& f) const { run_detail::present(verb(f.what.kind))(worker_, q, f); }
  // Runs both at once, or one after the other.
  void overlapped(Q& q, frame const& forward, frame const& backward) const {
    if (verbs_->overlapped != nullptr) return verbs_->overlapped(worker_, q, forward, backward);
    compute(q, forward);
    compute(q, backward);
  }
  void reduced(Q& q, parameter_frame const& f) const {
    run_detail::present(verbs_->reduced)(worker_, q, f);
  }
  void measure(Q& q, parameter_frame const& f) const {
    run_detail::present(verbs_->measure)(worker_, q, f);
  }
  void optimize(Q& q, parameter_frame const& f) const {
    run_detail::present(verbs_->optimize)(worker_, q, f);
  }
  buffer shard(int group, int replica) const {
    return run_detail::present(verbs_->shard)(worker_, group, replica);
  }

 private:
  typename run_detail::verb_table<Q>::pass_verb verb(pass_kind kind) const {
    return verbs_->passes[static_cast<std::size_t>(kind)];
  }

  void* worker_ = nullptr;
  run_detail::verb_table<Q> const* verbs_ = nullptr;
};

// Refers to several workers, one for each data-parallel rank; null for ranks elsewhere.
template <class Q, worker W>
std::vector<worker_ref<Q>> worker_refs(std::vector<W*> const& ranks) {
  std::vector<worker_ref<Q>> all;
  for (W* w : ranks) all.push_back(w == nullptr ? worker_ref<Q>() : worker_ref<Q>(*w));
  return all;
}

}  // namespace ashlar
