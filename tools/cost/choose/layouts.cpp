#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/dealing_by_speed.hpp>
#include <ashlar/cost/choose/layout_sizes.hpp>
#include <ashlar/cost/choose/layout_trials.hpp>
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>

#include <cstddef>
#include <vector>

namespace ashlar::cost {

namespace layouts_detail {

class layout_search {
 public:
  layout_search(question const& q, open_sizes const& open, constants const& c, std::size_t most,
                layouts_watch watch, layout_filter wanted)
      : asked_(q),
        open_(open),
        c_(c),
        trials_(q, open, c, most, watch, wanted),
        layers_(q.model.layer_count()),
        ends_(q.model.has_tables() ? 2 : 0),
        common_experts_(common_experts(q.model)),
        has_experts_(q.model.has_experts()),
        shares_{q.layout.sharding} {
    if (open.shares) shares_ = {sharding::none, sharding::optimizer, sharding::full};
  }

  layouts_found run() {
    int const sizes[] = {
        q_.cluster.device_count(), q_.batch,         q_.layout.micro_batch, q_.layout.tensor,
        q_.layout.pipeline,        q_.layout.chunks, q_.layout.context,     q_.layout.expert,
        q_.layout.expert_tensor,   q_.layout.data};
    for (int each : sizes)
      if (each < 1) throw unpredictable(requirement::sizes_are_positive, each);
    for (number_format f : open_.format ? formats_of(q_.cluster) : std::vector{q_.program.format}) {
      q_.program.format = f;
      try_kinds();
    }
    return trials_.take();
  }

 private:
  // Each try_ function chooses one size. Sizes that are not open stay.
  void try_kinds() {
    int const count = static_cast<int>(asked_.cluster.kinds.size());
    if (!open_.kinds || count == 1) return try_pipelines();
    for (std::vector<int> const& order : orders_of_kinds(count)) {
      q_.cluster = of_kinds(asked_.cluster, order);
      try_pipelines(is_ascending(order) ? 1 : 2);
    }
    q_.cluster = asked_.cluster;
  }
  static bool is_ascending(std::vector<int> const& order) {
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i] < order[i - 1]) return false;
    return true;
  }
  // With fewer than two pipeline ranks, kinds have no order.
  void try_pipelines(int fewest = 1) {
    for (int p : choices(open_.pipeline, q_.cluster.device_count(), q_.layout.pipeline)) {
      if (p < fewest) continue;
      q_.layout.pipeline = p;
      try_tensors();
    }
  }
  void try_tensors() {
    int const rest = q_.cluster.device_count() / q_.layout.pipeline;
    for (int t : choices(open_.tensor, rest, q_.layout.tensor)) {
      q_.layout.tensor = t;
      for (int c : choices(open_.context, rest / t, q_.layout.context)) {
        q_.layout.context = c;
        long long const below = 1LL * q_.layout.pipeline * t * c;
        int const left =
            below > q_.cluster.device_count() ? 1 : static_cast<int>(q_.cluster.device_count() / below);
        if (!open_.data && left != asked_.layout.data) continue;
        q_.layout.data = left;
        try_orders();
        if (trials_.are_stopped()) return;
      }
    }
  }
  void try_orders() {
    try_experts();
    // True if a domain has more than a stage's tensor and context ranks, and these are not all ranks.
    bool const differs = !q_.cluster.has_several_kinds() && q_.layout.pipeline > 1 && q_.layout.data > 1
                         && q_.layout.tensor * q_.layout.context < domain_of(q_.cluster);
    if (!open_.order || !differs) return;
    q_.layout.pipeline_inside = !asked_.layout.pipeline_inside;
    try_experts();
    q_.layout.pipeline_inside = asked_.layout.pipeline_inside;
  }
  void try_experts() {
    for (int e : choices(open_.expert, common_experts_, q_.layout.expert)) {
      q_.layout.expert = e;
      if (open_.expert_tensor) q_.layout.expert_tensor = 1;
      try_micro_batches();
      if (!open_.expert_tensor || !has_experts_ || q_.layout.tensor == 1) continue;
      q_.layout.expert_tensor = q_.layout.tensor;
      try_micro_batches();
    }
  }
  void try_micro_batches() {
    int const most = open_.micro_batch ? q_.batch / q_.layout.data : asked_.layout.micro_batch;
    for (int size = open_.micro_batch ? 1 : asked_.layout.micro_batch; size <= most; size *= 2) {
      q_.layout.micro_batch = size;
      if (trials_.divides_layers())
        try_any_chunks();
      else
        try_chunks();
      if (trials_.are_stopped() || size > most / 2) break;
    }
  }
  void try_chunks() {
    q_.layout.stages = asked_.layout.stages;
    for (bool ends : {false, true}) {
      if (open_.ends ? ends && (q_.layout.pipeline == 1 || ends_ == 0)
                     : ends != asked_.layout.counts_ends)
        continue;
      q_.layout.counts_ends = ends;
      int const layers = layers_ + (ends ? 2 : 0);
      bool const divides = q_.layout.pipeline > 1 && layers % q_.layout.pipeline == 0;
      if (ends && open_.ends && !divides) continue;
      for (int v :
           choices(open_.chunks, divides ? layers / q_.layout.pipeline : 1, asked_.layout.chunks)) {
        q_.layout.chunks = v;
        try_shares();
      }
    }
  }
  // Tries any number that leaves each stage a layer or an end of the model.
  void try_any_chunks() {
    int const parts = layers_ + ends_, most = max_of(1, parts / q_.layout.pipeline);
    for (int v = open_.chunks ? 1 : asked_.layout.chunks;
         v <= (open_.chunks ? most : asked_.layout.chunks); ++v) {
      q_.layout.chunks = v;
      int const stages = q_.layout.pipeline * v;
      q_.layout.counts_ends = ends_ > 0 && parts % stages == 0;
      q_.layout.stages.clear();
      bool const comes_out_even = v == 1 || q_.layout.counts_ends || layers_ % stages == 0;
      if (stages <= parts && (q_.cluster.has_several_kinds() || !comes_out_even)) deal_first();
      try_shares();
      if (trials_.are_stopped()) return;
    }
  }
  // The division that a layout is weighed with, before the best have their layers dealt.
  void deal_first() {
    if (!q_.cluster.has_several_kinds()) {
      q_.layout.stages = deal_evenly(q_.model, q_.layout);
      return;
    }
    q_.layout.counts_ends = false;
    try {
      q_.layout.sharding = shares_.front();
      q_.layout.stages = deal_evenly(q_.model, q_.layout);
      check(q_);
      q_.layout.stages = deal_by_speed(q_, placement_of(q_), c_);
    } catch (unpredictable const&) {  // try_one() says why
    }
  }
  void try_shares() {
    for (sharding s : shares_) {
      q_.layout.sharding = s;
      trials_.try_one();
    }
  }

  static std::vector<int> choices(bool is_open, int whole, int asked) {
    return is_open ? divisors_of(whole) : std::vector<int>{asked};
  }

  question const asked_;
  open_sizes open_;
  constants const& c_;
  layout_trials trials_;
  question& q_ = trials_.tried;         // with the sizes chosen so far
  int layers_, ends_, common_experts_;  // ends: embedding and head
  bool has_experts_;
  std::vector<sharding> shares_;
};

}  // namespace layouts_detail

layouts_found best_layouts(question const& q, open_sizes const& open, constants const& c,
                           std::size_t most, layouts_watch watch, layout_filter wanted) {
  check(c);
  return layouts_detail::layout_search(q, open, c, most, watch, wanted).run();
}

}  // namespace ashlar::cost
