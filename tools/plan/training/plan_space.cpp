#include <ashlar/catalog/entries.hpp>
#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/plan/training/device_kind.hpp>
#include <ashlar/plan/training/layer_division.hpp>
#include <ashlar/plan/training/partition.hpp>
#include <ashlar/plan/training/plan_sites.hpp>
#include <ashlar/plan/training/plan_space.hpp>
#include <ashlar/plan/training/step_model.hpp>

#include <cstddef>

namespace ashlar::plan_detail {

bool is_ascending(std::vector<int> const& kinds) {
  for (std::size_t i = 1; i < kinds.size(); ++i)
    if (kinds[i] < kinds[i - 1]) return false;
  return true;
}

// Adds the plan with these layers, unless it was added since `from`.
void add_once(training_plan& plan, std::vector<int> const& layers, std::size_t from,
              std::vector<training_plan>& made) {
  for (std::size_t i = from; i < made.size(); ++i)
    if (made[i].layers == layers) return;
  plan.layers = layers;
  made.push_back(plan);
}

// Adds divisions that give one kind more or fewer layers than the balanced one: by 1, 2, 4 and so on in
// each of its stages. The most even division within memory is near one of these, and they do not depend
// on the memory.
void add_shifted(plan_question const& q, training_plan& plan, std::vector<int> const& balanced,
                 std::vector<double> const& layer, double head, std::size_t from,
                 std::vector<training_plan>& made) {
  placement const where = placement_of(plan);
  for (int kind : plan.kinds) {
    std::vector<int> group;
    for (int d = 0; d < where.device_count(); ++d)
      if (kinds_of_device(q, plan, d) == std::vector<int>(1, kind)) group.push_back(d);
    if (group.empty()) continue;
    for (int sign : {1, -1})
      for (int more = 1;; more *= 2) {
        std::vector<int> const shifted =
            shifted_division(balanced, sign * more, group, layer, head, where);
        if (shifted.empty()) break;
        add_once(plan, shifted, from, made);
      }
  }
}

// Adds the plan with its layers divided evenly, and once more as evenly as the devices and the head
// allow, if that differs; with several kinds also with that division shifted between them.
void add_divided(plan_question const& q, training_plan plan, std::vector<training_plan>& made) {
  placement const where = placement_of(plan);
  int const stage_count = where.stage_count();
  std::size_t const from = made.size();
  add_once(plan, uniform_partition(q.model.layers, stage_count), from, made);
  if (q.divides_evenly) return;
  if (listed_model const* const list = list_of(q, plan.layout.tensor); list != nullptr) {
    std::vector<double> each;
    for (listed_layer const& l : list->layers) each.push_back(layer_seconds(l, plan.layout).both());
    add_once(plan, balanced_division(each, stage_count), from, made);
    return;
  }
  std::vector<double> layer;
  for (int d = 0; d < where.device_count(); ++d) {
    device_kind const kind = device_of_pipeline(q, plan, d);
    layer.push_back(layer_seconds(q.model, plan.layout, kind.machine, kind.constants).both());
  }
  device_kind const last = device_of_pipeline(q, plan, where.device_of(0, stage_count - 1));
  double const head = head_seconds(q.model, plan.layout, last.machine, last.constants).both();
  std::vector<int> const balanced = balanced_division(q.model.layers, layer, head, where);
  add_once(plan, balanced, from, made);
  if (plan.kinds.size() > 1) add_shifted(q, plan, balanced, layer, head, from, made);
}

// Adds the schedules of one layout: every entry, with every number of chunks that it may have.
void add_scheduled(plan_question const& q, training_plan plan,
                   std::vector<catalog::entry const*> const& entries, std::vector<training_plan>& made) {
  int const p = plan.layout.pipeline;
  if (p == 1) {
    plan.entry = catalog::find("1f1b");
    return add_divided(q, plan, made);
  }
  std::vector<int> const one(1, 1), two(1, 2);
  for (catalog::entry const* e : entries) {
    bool const loops = e->uses(parameter::chunk_count);
    bool const cuts_sequences = e->uses(parameter::sequence_chunk_count);
    if (loops && plan.micro_batches < p) continue;
    plan.entry = e;
    for (int v : loops ? q.chunks : e->placed == placement_kind::v ? two : one)
      for (int pieces : cuts_sequences ? q.sequence_chunks : one) {
        if (p * v > q.model.layers || pieces > q.model.sequence) continue;
        plan.chunks = v;
        plan.sequence_chunks = pieces;
        add_divided(q, plan, made);
      }
  }
}

// Adds the layouts of this many devices, of these kinds in this order. Tensor ranks are within one node.
void add_laid_out(plan_question const& q, std::vector<int> const& kinds, int device_count,
                  std::vector<catalog::entry const*> const& entries, std::vector<training_plan>& made) {
  int const heads = static_cast<int>(q.model.heads);
  training_plan whole{.layout = {.data = device_count}, .kinds = kinds};
  int node_size = device_count;
  for (int k : kinds) node_size = min_of(node_size, nth(q.kinds, k).machine.node_size);
  for (int t = 1; t <= node_size; t *= 2) {
    bool divides = q.tensor == 0 || q.tensor == t;
    for (int k : kinds) divides = divides && used_of(q, whole, k) % t == 0;
    if (!divides) continue;
    if (q.lists.empty() ? heads % t != 0 : list_of(q, t) == nullptr) continue;
    for (int p = 1; p <= min_of(q.model.layers, device_count / t); ++p) {
      if (device_count / t % p != 0) continue;
      int const d = device_count / t / p;
      if (q.batch % d != 0) continue;
      if (p == 1 && !is_ascending(kinds)) continue;  // one device has no order
      for (int b = 1; b <= q.largest_micro_batch; b *= 2) {
        if (q.batch / d % b != 0) continue;
        for (recomputation again :
             {recomputation::none, recomputation::attention, recomputation::full}) {
          if (again == recomputation::attention && (!(q.widths.scores > 0) || !q.lists.empty()))
            continue;  // no scores are kept
          for (sharding_level level : q.levels)
            if (level == sharding_level::none || d > 1)
              add_scheduled(q,
                            {.layout = {.micro_batch = b,
                                        .tensor = t,
                                        .pipeline = p,
                                        .data = d,
                                        .again = again,
                                        .sequence_parallel = t > 1},
                             .sharding = level,
                             .micro_batches = q.batch / d / b,
                             .kinds = kinds},
                            entries, made);
        }
      }
    }
  }
}

}  // namespace ashlar::plan_detail

namespace ashlar {

std::vector<training_plan> all_plans(plan_question const& q,
                                     std::vector<catalog::entry const*> const& entries) {
  if (diagnosis const d = check(q); !d.ok()) refuse(d);
  std::vector<training_plan> made;
  if (!q.lists.empty() && q.kinds.size() > 1) return made;
  for (std::vector<int> const& kinds : orders_of_kinds(static_cast<int>(q.kinds.size()))) {
    if (q.kind >= 0 && kinds != std::vector<int>(1, q.kind)) continue;
    for (int part = 1;; part *= 2) {
      int device_count = 0;
      bool divides = true;
      for (int k : kinds) {
        int const count = nth(q.kinds, k).count;
        device_count += count / part;
        divides = divides && count % part == 0;
      }
      if (!divides) break;
      plan_detail::add_laid_out(q, kinds, device_count, entries, made);
      if (!q.takes_fewer_devices) break;
    }
  }
  return made;
}

}  // namespace ashlar
