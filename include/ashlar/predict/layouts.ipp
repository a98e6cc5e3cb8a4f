// Definitions of layouts.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/predict/layouts.hpp>
#include <ashlar/predict/memory.hpp>
#include <ashlar/predict/stack.hpp>
#include <ashlar/predict/stage_devices.hpp>
#include <ashlar/predict/stage_layout.hpp>
#include <ashlar/predict/step.hpp>

#include <cmath>

namespace ashlar::predict {

namespace layouts_detail {

inline std::vector<int> divisors_of(int n) {
  std::vector<int> all;
  for (int d = 1; d <= n / d; ++d)
    if (n % d == 0) {
      all.push_back(d);
      if (d != n / d) all.push_back(n / d);
    }
  merge_sort(all, [](int a, int b) { return a < b; });
  return all;
}

// The experts of every layer that has some; expert ranks divide them all.
inline int common_experts(architecture const& a) {
  int common = 0;
  for (layer const& l : a.kinds)
    if (l.feed.kind == feed_forward_kind::experts && l.feed.experts >= 1 && l.feed.experts < 1e9)
      common = greatest_common_divisor(common, static_cast<int>(l.feed.experts));
  return common == 0 ? 1 : common;
}

inline bool is_before(ranked_layout const& a, ranked_layout const& b) {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.peak < b.peak;
}

class layout_search {
 public:
  layout_search(question const& q, open_sizes const& open, constants const& c, std::size_t most,
                layouts_watch watch)
      : open_(open),
        c_(c),
        most_(most),
        watch_(watch),
        asked_data_(q.data),
        asked_ends_(q.counts_ends),
        shares_{q.shares},
        again_{q.again} {
    if (open.shares) shares_ = {sharding::none, sharding::optimizer, sharding::full};
    if (open.again) again_ = {recomputation::none, recomputation::attention, recomputation::full};
  }

  layouts_found run(question const& q) {
    int const sizes[] = {q.devices, q.batch,   q.micro_batch, q.tensor,        q.pipeline,
                         q.chunks,  q.context, q.expert,      q.expert_tensor, q.data};
    for (int each : sizes)
      if (each < 1) throw unpredictable(requirement::sizes_are_positive, each);
    try_pipelines(q);
    if (found_.tried > 0) found_.refused.clear();
    return std::move(found_);
  }

 private:
  static constexpr long long between_calls = 1024;

  // Each chooses one size and passes the question on; what is not open stays as it is.
  void try_pipelines(question q) {
    for (int p : choices(open_.pipeline, q.devices, q.pipeline)) {
      q.pipeline = p;
      try_tensors(q);
    }
  }
  void try_tensors(question q) {
    int const rest = q.devices / q.pipeline;
    for (int t : choices(open_.tensor, rest, q.tensor)) {
      q.tensor = t;
      for (int c : choices(open_.context, rest / t, q.context)) {
        q.context = c;
        long long const below = 1LL * q.pipeline * t * c;
        int const left = below > q.devices ? 1 : static_cast<int>(q.devices / below);
        if (!open_.data && left != asked_data_) continue;
        q.data = left;
        try_experts(q);
      }
    }
  }
  void try_experts(question q) {
    for (int e : choices(open_.expert, common_experts(q.model), q.expert)) {
      q.expert = e;
      if (open_.expert_tensor) q.expert_tensor = 1;
      try_micro_batches(q);
      if (!open_.expert_tensor || !q.model.has_experts() || q.tensor == 1) continue;
      q.expert_tensor = q.tensor;
      try_micro_batches(q);
    }
  }
  void try_micro_batches(question q) {
    int const most = open_.micro_batch ? q.batch / q.data : q.micro_batch;
    for (int size = open_.micro_batch ? 1 : q.micro_batch; size <= most; size *= 2) {
      q.micro_batch = size;
      try_chunks(q);
      if (stopped_ || size > most / 2) break;
    }
  }
  void try_chunks(question q) {
    for (bool ends : {false, true}) {
      if (open_.ends ? ends && q.pipeline == 1 : ends != asked_ends_) continue;
      q.counts_ends = ends;
      int const layers = q.model.layer_count() + (ends ? 2 : 0);
      bool const divides = q.pipeline > 1 && layers % q.pipeline == 0;
      if (ends && open_.ends && !divides) continue;
      for (int v : choices(open_.chunks, divides ? layers / q.pipeline : 1, q.chunks)) {
        q.chunks = v;
        for (sharding s : shares_)
          for (recomputation r : again_) {
            q.shares = s;
            q.again = r;
            try_one(q);
          }
      }
    }
  }

  void try_one(question q) {
    if (stopped_ || !is_usual(q)) return;
    bool const is_sharded = q.shares == sharding::full || q.shares == sharding::gradients;
    if (q.program == program_kind::automatic && !is_sharded && !stack_of(q).is_tuned)
      q.program = program_kind::tuned;
    try {
      check(q);
      std::vector<stage> const stages = stages_of(q);
      ranked_layout made{q, 0, peak_bytes(memory_of(q, stages, c_))};
      ++found_.tried;
      if (found_.smallest.empty() || made.peak < found_.smallest[0].peak) {
        made.seconds = step_of(q, stages, c_).seconds;
        found_.smallest = {made};
      }
      if (!every_stage_works(q) || !fits(q, made.peak, c_)) {
        ++found_.too_large;
      } else {
        made.seconds = step_of(q, stages, c_).seconds;
        if (std::isfinite(made.seconds)) keep(made);
      }
    } catch (unpredictable const&) {
      if (found_.refused.empty()) found_.refused.push_back(q);
    }
    if (++asked_ % between_calls == 0) stopped_ = !watch_(found_);
  }
  void keep(ranked_layout const& made) {
    auto& best = found_.best;
    if (most_ == 0 || (best.size() == most_ && !is_before(made, best.back()))) return;
    auto at = best.end();
    while (at != best.begin() && is_before(made, at[-1])) --at;
    best.insert(at, made);
    if (best.size() > most_) best.pop_back();
  }

  static std::vector<int> choices(bool is_open, int whole, int asked) {
    return is_open ? divisors_of(whole) : std::vector<int>{asked};
  }

  open_sizes open_;
  constants const& c_;
  std::size_t most_;
  layouts_watch watch_;
  int asked_data_;
  bool asked_ends_;
  std::vector<sharding> shares_;
  std::vector<recomputation> again_;
  layouts_found found_;
  long long asked_ = 0;  // possible or not
  bool stopped_ = false;
};

}  // namespace layouts_detail

ASHLAR_INLINE bool is_usual(question const& q) {
  int const layers = q.model.layer_count() + (q.counts_ends ? 2 : 0);
  if (q.tensor > q.per_node && q.device.domain <= q.per_node) return false;
  if (!q.has_own_stages() && stage_count(q) > layers) return false;
  if (q.chunks > 1
      && ((!q.has_own_stages() && layers % stage_count(q) != 0) || micro_batches(q) % q.pipeline != 0))
    return false;
  bool const is_sharded = q.shares == sharding::full || q.shares == sharding::gradients;
  return !is_sharded || q.pipeline == 1;
}

ASHLAR_INLINE layouts_found best_layouts(question const& q, open_sizes const& open, constants const& c,
                                         std::size_t most, layouts_watch watch) {
  check(c);
  return layouts_detail::layout_search(q, open, c, most, watch).run(q);
}

}  // namespace ashlar::predict
