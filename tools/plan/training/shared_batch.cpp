#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/core/refuse.hpp>
#include <ashlar/plan/training/sharded_parameters.hpp>
#include <ashlar/plan/training/shared_batch.hpp>

#include <cstddef>
#include <limits>

namespace ashlar::plan_detail {

// Searches for the shares, and caches the step of each kind for each number of sequences.
class batch_sharer {
 public:
  batch_sharer(plan_question const& q, std::vector<catalog::entry const*> const& entries,
               plan_progress progress)
      : q_(q), entries_(entries), progress_(progress), known_(q.kinds.size()) {
    q_.objective = plan_objective::time;
    q_.takes_fewer_devices = false;
  }

  std::vector<kind_share> shares() {
    std::vector<int> batches = by_speed();
    if (batches.empty()) return {};
    double best = longest(batches);
    int unit = 1;
    while (unit <= q_.batch / 4) unit *= 2;
    for (; unit >= max_of(1, q_.batch / 64); unit /= 2)
      while (is_improved(batches, unit, best)) {
      }
    if (!is_finite(best)) return {};
    std::vector<kind_share> made;
    for (std::size_t k = 0; k < batches.size(); ++k) made.push_back(of(k, batches[k]));
    return made;
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static bool is_finite(double seconds) { return seconds < never; }

  // In proportion to operations per second, with at least one sequence each.
  std::vector<int> by_speed() const {
    int left = q_.batch - static_cast<int>(q_.kinds.size());
    if (left < 0) return {};
    double all = 0;
    auto const speed = [](device_kind const& k) {
      return k.count * k.machine.flops / k.constants.products;
    };
    for (device_kind const& k : q_.kinds) all += speed(k);
    std::vector<int> batches;
    int const shared = left;
    for (device_kind const& k : q_.kinds) {
      int const more = min_of(left, static_cast<int>(shared * (speed(k) / all)));
      batches.push_back(1 + more);
      left -= more;
    }
    batches[0] += left;
    return batches;
  }

  // Makes the move of `unit` sequences that helps most, if one does.
  bool is_improved(std::vector<int>& batches, int unit, double& best) {
    std::vector<int> const from = batches;
    double const before = best;
    for (std::size_t giver = 0; giver < from.size(); ++giver)
      for (std::size_t taker = 0; taker < from.size(); ++taker) {
        if (giver == taker || from[giver] <= unit) continue;
        std::vector<int> next = from;
        // Moves to the next multiple, so that data ranks divide the batch.
        int const moved = from[giver] % unit == 0 ? unit : from[giver] % unit;
        next[giver] -= moved;
        next[taker] += moved;
        double const found = longest(next);
        if (!(found < best)) continue;
        best = found;
        batches = next;
      }
    return best < before;
  }

  double longest(std::vector<int> const& batches) {
    double most = 0;
    for (std::size_t k = 0; k < batches.size(); ++k) {
      kind_share const& own = of(k, batches[k]);
      most = max_of(most, own.step.plan.entry == nullptr ? never : own.step.seconds);
    }
    return most;
  }

  kind_share const& of(std::size_t kind, int batch) {
    for (kind_share const& each : known_[kind])
      if (each.batch == batch) return each;
    plan_question one = q_;
    one.kind = static_cast<int>(kind);
    one.batch = batch;
    plan_answer const found = answer(one, entries_, 1, progress_);
    known_[kind].push_back({one.kind, batch, found.best.empty() ? planned_step{} : found.best[0]});
    return known_[kind].back();
  }

  plan_question q_;
  std::vector<catalog::entry const*> const& entries_;
  plan_progress progress_;
  std::vector<std::vector<kind_share>> known_;
};

}  // namespace ashlar::plan_detail

namespace ashlar {

double seconds_between_kinds(plan_question const& q) {
  parameter_sharing const ring{.data = static_cast<int>(q.kinds.size())};
  double const bytes =
      q.model.parameters() * reduced_bytes(ring, bytes_of_parameter(q.model.value_bytes));
  double longest = 0;
  for (device_kind const& k : q.kinds) {
    double const link =
        q.between_kinds > 0 ? min_of(k.machine.between, q.between_kinds) : k.machine.between;
    longest = max_of(longest, bytes / (k.count * link));
  }
  return longest;
}

shared_batch share_batch(plan_question const& q, std::vector<catalog::entry const*> const& entries,
                         plan_progress progress) {
  if (diagnosis const d = check(q); !d.ok()) refuse(d);
  shared_batch made;
  if (q.kinds.size() < 2 || !q.lists.empty()) return made;
  made.shares = plan_detail::batch_sharer(q, entries, progress).shares();
  if (!made.shares.empty()) made.sum = seconds_between_kinds(q);
  return made;
}

}  // namespace ashlar
