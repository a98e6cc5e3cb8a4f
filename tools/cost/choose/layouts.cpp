#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/choose/layout_sizes.hpp>
#include <ashlar/cost/choose/layouts.hpp>
#include <ashlar/cost/choose/layouts_for_pairs.hpp>
#include <ashlar/cost/choose/offload_sets.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>
#include <utility>

namespace ashlar::cost {

namespace layouts_detail {

inline bool is_before(ranked_layout const& a, ranked_layout const& b) {
  return a.seconds != b.seconds ? a.seconds < b.seconds : a.peak < b.peak;
}

inline bool is_usual(question const& q, left_out& why) {
  int const layers = q.model.layer_count() + (q.layout.counts_ends ? 2 : 0);
  why = left_out::tensor_is_apart;
  for (device_kind const& each : q.cluster.kinds)
    if (q.layout.tensor > each.device.per_node && each.device.domain <= each.device.per_node)
      return false;
  why = left_out::idle_stage;
  if (q.layout.stages.empty() && stage_count(q) > layers) return false;
  why = left_out::uneven_chunks;
  if (q.layout.chunks > 1
      && ((q.layout.stages.empty() && layers % stage_count(q) != 0)
          || q.micro_batches() % q.layout.pipeline != 0))
    return false;
  why = left_out::sharded_pipeline;
  return !stack_of(q).is_sharded || q.layout.pipeline == 1;
}

class layout_search {
 public:
  layout_search(question const& q, open_sizes const& open, constants const& c, std::size_t most,
                layouts_watch watch, layout_filter wanted)
      : asked_(q),
        q_(q),
        open_(open),
        c_(c),
        most_(most),
        dealt_(dealt_at_least * q.cluster.kinds.size() * q.cluster.kinds.size()),
        kept_(open.stages ? max_of(most, dealt_) : most),
        watch_(watch),
        wanted_(wanted),
        layers_(q.model.layer_count()),
        ends_(q.model.has_tables() ? 2 : 0),
        common_experts_(common_experts(q.model)),
        has_experts_(q.model.has_experts()),
        shares_{q.layout.sharding},
        again_{recomputation::attention} {
    if (open.shares) shares_ = {sharding::none, sharding::optimizer, sharding::full};
    if (open.parts) again_ = part_sets_of(q.model);
  }

  layouts_found run() {
    int const sizes[] = {
        q_.cluster.device_count(), q_.batch,         q_.layout.micro_batch, q_.layout.tensor,
        q_.layout.pipeline,        q_.layout.chunks, q_.layout.context,     q_.layout.expert,
        q_.layout.expert_tensor,   q_.layout.data};
    for (int each : sizes)
      if (each < 1) throw unpredictable(requirement::sizes_are_positive, each);
    if (open_.again) q_.layout.recompute = recomputation::none;
    for (number_format f : open_.format ? formats_of(q_.cluster) : std::vector{q_.program.format}) {
      q_.program.format = f;
      try_kinds();
    }
    if (open_.stages) deal();
    while (found_.best.size() > most_) found_.best.pop_back();
    if (found_.tried > 0) found_.refused.clear();
    if (!found_.best.empty()) found_.smallest.clear();
    found_.for_pairs = for_pairs_.layouts();
    found_.is_whole = !stopped_;
    return std::move(found_);
  }

 private:
  static constexpr long long between_calls = 256;
  static constexpr std::size_t dealt_at_least = 16;

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
        if (stopped_) return;
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
      if (deals())
        try_any_chunks();
      else
        try_chunks();
      if (stopped_ || size > most / 2) break;
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
      if (stopped_) return;
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
      try_one();
      q_.program.kind = asked_.program.kind;
      run_nothing_again();
      q_.layout.offload = asked_.layout.offload;
    }
  }
  void run_nothing_again() {
    if (open_.again) q_.layout.recompute = recomputation::none;
    q_.layout.recompute_in = asked_.layout.recompute_in;
  }

  bool deals() const { return open_.stages && q_.layout.pipeline > 1; }

  void count(left_out why) { ++found_.counts[static_cast<std::size_t>(why)]; }

  void try_one() {
    if (stopped_) return;
    if (++seen_ % between_calls == 0 && !watch_(found_)) stopped_ = true;
    left_out why{};
    if (!is_usual(q_, why)) return count(why);
    if (stack const s = stack_of(q_);
        q_.program.kind == program_kind::automatic && !s.is_sharded && !s.is_tuned)
      q_.program.kind = is_low(q_.program.format) || has_several_nodes(q_.cluster) ? program_kind::recipe
                                                                                   : program_kind::tuned;
    try {
      check(q_);
      std::vector<stage> const stages = stages_of(q_);
      if (!every_stage_works(q_)) return count(left_out::idle_stage);
      if (weigh(stages) != weight::too_large) return;
      if (deals()) keep_near(near_);
      if (open_.again) try_again(stages);
      if (open_.leaves && knows_hosts(q_.cluster)) try_leaving(stages);
    } catch (unpredictable const& e) {
      count(left_out::refused);
      ++found_.by_requirement[static_cast<std::size_t>(e.broken)];
      if (found_.refused.empty()) found_.refused.push_back(q_);
    }
  }

  // A layout that does not fit may fit if it recomputes.
  void try_again(std::vector<stage> const& stages) {
    for (recomputation r : again_) {
      q_.layout.recompute = r;
      weigh(stages);
    }
    q_.layout.recompute = recomputation::full;
    if (weigh(stages) == weight::too_large || !open_.parts) return;
    weigh_fewest_layers(stages, q_.layout.recompute_in);
  }
  // A layout that does not fit may fit if it offloads to the host.
  void try_leaving(std::vector<stage> const& stages) {
    run_nothing_again();
    for (bool optimizer : {false, true}) {
      q_.layout.offload = asked_.layout.offload;
      if (optimizer) {
        if (q_.layout.offload.optimizer) return;
        q_.layout.offload.optimizer = true;
        if (weigh(stages) != weight::too_large) return;
        if (deals()) keep_near(near_without_optimizer_);
      }
      if (asked_.layout.offload.parts != offloaded::none
          || has(q_.layout.recompute, recomputation::full))
        continue;
      // More offloaded bytes never take less time, and free memory.
      std::vector<offloaded> const sets = offload_sets_of(q_, c_);
      std::size_t low = 0;
      for (std::size_t high = sets.size(); low < high;) {
        std::size_t const middle = low + (high - low) / 2;
        q_.layout.offload.parts = sets[middle];
        if (weigh(stages) == weight::too_large)
          low = middle + 1;
        else
          high = middle;
      }
      q_.layout.offload.parts = offloaded::all;
      if (low == sets.size() && weigh(stages) != weight::too_large)
        weigh_fewest_layers(stages, q_.layout.offload.in);
    }
  }
  // Finds the fewest first layers of each stage with which the layout fits. Requires that it fits with
  // all.
  void weigh_fewest_layers(std::vector<stage> const& stages, chosen_layers& which) {
    int high = 0;
    for (stage const& s : stages) high = max_of(high, s.count);
    for (int low = 1; low < high;) {
      which.first = low + (high - low) / 2;
      if (weigh(stages) == weight::too_large)
        low = which.first + 1;
      else
        high = which.first;
    }
  }

  enum class weight : unsigned char { fits, too_large, slower, unwanted };

  weight weigh(std::vector<stage> const& stages) {
    if (!wanted_(q_)) {
      count(left_out::unwanted);
      return weight::unwanted;
    }
    ++found_.tried;
    // Layouts whose layers are divided again are executed only then.
    uneven_rounds const how = deals() ? uneven_rounds::by_closed_form : uneven_rounds::executed;
    step_terms const step = step_of(q_, stages, c_, how);
    double const seconds = step.seconds;
    if (!std::isfinite(seconds)) return weight::slower;
    bool const is_late =
        found_.best.size() == kept_ && (kept_ == 0 || seconds > found_.best.back().seconds);
    double const in_pairs = open_.pairs ? layouts_for_pairs::seconds_of(q_, step) : seconds;
    bool const may_hide = in_pairs < seconds && for_pairs_.have_room_for(in_pairs);
    if (is_late && !may_hide) {
      count(left_out::slower);
      return weight::slower;
    }
    last_seconds_ = seconds;
    std::vector<memory_parts> const held = memory_of(q_, stages, c_);
    double const peak = peak_bytes(held);
    if (fits(q_, held, c_)) {
      if (may_hide) for_pairs_.keep({q_, seconds, peak, 0}, in_pairs);
      if (is_late) {
        count(left_out::slower);
        return weight::slower;
      }
      keep({q_, seconds, peak, 0});
      return weight::fits;
    }
    count(left_out::too_large);
    if (found_.best.empty() && (found_.smallest.empty() || peak < found_.smallest[0].peak))
      found_.smallest = {{q_, seconds, peak, 0}};
    return weight::too_large;
  }

  void keep(ranked_layout const& made) {
    for (ranked_layout const& other : found_.best)
      if (is_same(other, made)) return;
    insert(found_.best, made, kept_);
  }
  // Keeps fast layouts that are too large, for deal().
  void keep_near(std::vector<ranked_layout>& near) const {
    if (near.size() < dealt_ || last_seconds_ < near.back().seconds)
      insert(near, {q_, last_seconds_, 0, 0}, dealt_);
  }
  static void insert(std::vector<ranked_layout>& best, ranked_layout const& made, std::size_t most) {
    if (best.size() == most && (most == 0 || !is_before(made, best.back()))) return;
    auto at = best.end();
    while (at != best.begin() && is_before(made, at[-1])) --at;
    best.insert(at, made);
    if (best.size() > most) best.pop_back();
  }
  // Layouts that differ only in stages or recomputation count once. The first has the fewest chunks.
  static bool is_same(ranked_layout const& a, ranked_layout const& b) {
    question const &q = a.asked, &r = b.asked;
    return a.seconds == b.seconds && a.peak == b.peak && q.layout.micro_batch == r.layout.micro_batch
           && q.layout.tensor == r.layout.tensor && q.layout.pipeline == r.layout.pipeline
           && q.layout.context == r.layout.context && q.layout.expert == r.layout.expert
           && q.layout.expert_tensor == r.layout.expert_tensor && q.layout.sharding == r.layout.sharding
           && q.layout.pipeline_inside == r.layout.pipeline_inside
           && q.program.format == r.program.format && q.layout.offload == r.layout.offload
           && q.cluster == r.cluster;
  }

  // Finds the best division of layers for the layouts kept, and for the fastest that do not fit.
  void deal() {
    std::vector<ranked_layout> const kept = std::move(found_.best);
    found_.best = {};
    for (std::vector<ranked_layout> const* list :
         {&kept, &std::as_const(near_), &std::as_const(near_without_optimizer_)})
      for (ranked_layout each : *list) {
        bool const fits_as_it_is = list == &kept;
        stopped_ = stopped_ || !watch_(found_);
        if (each.asked.layout.pipeline > 1 && !stopped_) deal_one(each, fits_as_it_is);
        if (fits_as_it_is || each.peak > 0) keep(each);
      }
  }
  void deal_one(ranked_layout& each, bool fits_as_it_is) {
    question q = each.asked;
    if (q.layout.chunks > 1) each.seconds = step_of(q, stages_of(q), c_).seconds;
    if (q.layout.pipeline * q.layout.chunks > layers_ + ends_) return;
    dealing const made = deal_layers(q, c_);
    each.bound = min_of(made.bound, each.seconds);
    if (made.stages.empty() || (fits_as_it_is && made.seconds > each.seconds * (1 - 1e-9))) return;
    q.layout.stages = made.stages;
    q.layout.counts_ends = false;
    std::vector<memory_parts> const held = memory_of(q, q.layout.stages, c_);
    if (fits(q, held, c_)) each = {q, made.seconds, peak_bytes(held), made.bound};
  }

  static std::vector<int> choices(bool is_open, int whole, int asked) {
    return is_open ? divisors_of(whole) : std::vector<int>{asked};
  }

  question const asked_;
  question q_;  // with the sizes chosen so far
  open_sizes open_;
  constants const& c_;
  std::size_t most_;
  std::size_t dealt_;  // layouts whose layers are dealt, at least; first weighed, kinds are further off
  std::size_t kept_;
  layouts_watch watch_;
  layout_filter wanted_;
  int layers_, ends_, common_experts_;  // ends: embedding and head
  bool has_experts_;
  std::vector<sharding> shares_;
  std::vector<recomputation> again_;
  layouts_found found_;
  std::vector<ranked_layout> near_, near_without_optimizer_;
  layouts_for_pairs for_pairs_;
  double last_seconds_ = 0;  // of the layout weighed last
  long long seen_ = 0;       // layouts, possible or not
  bool stopped_ = false;
};

}  // namespace layouts_detail

bool is_usual(question const& q) {
  left_out why{};
  return layouts_detail::is_usual(q, why);
}

layouts_found best_layouts(question const& q, open_sizes const& open, constants const& c,
                           std::size_t most, layouts_watch watch, layout_filter wanted) {
  check(c);
  return layouts_detail::layout_search(q, open, c, most, watch, wanted).run();
}

}  // namespace ashlar::cost
