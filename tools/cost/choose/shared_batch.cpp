#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/choose/shared_batch.hpp>
#include <ashlar/cost/model/architecture.hpp>

#include <cstddef>
#include <limits>

namespace ashlar::cost {

namespace shared_batch_detail {

// Searches for the shares, and caches the step of each kind for each number of sequences.
class batch_sharer {
 public:
  batch_sharer(question const& q, open_sizes const& open, constants const& c, layouts_watch watch)
      : q_(q), open_(open), c_(c), watch_(watch), known_(q.cluster.kinds.size()) {
    open_.data = true;
  }

  std::vector<ranked_layout> shares() {
    std::vector<int> batches = by_speed();
    if (batches.empty()) return {};
    double best = longest(batches);
    int unit = 1;
    while (unit <= q_.batch / 4) unit *= 2;
    for (; unit >= max_of(1, q_.batch / 64); unit /= 2)
      while (!stopped_ && is_improved(batches, unit, best)) {
      }
    if (!(best < never) || stopped_) return {};
    std::vector<ranked_layout> made;
    for (std::size_t k = 0; k < batches.size(); ++k) made.push_back(of(k, batches[k]));
    return made;
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  // In proportion to operations per second, with at least one sequence each.
  std::vector<int> by_speed() const {
    std::vector<device_kind> const& kinds = q_.cluster.kinds;
    int left = q_.batch - static_cast<int>(kinds.size());
    if (left < 0) return {};
    auto const speed = [&](device_kind const& k) {
      return k.devices * peak(k.device, q_.program.format);
    };
    double all = 0;
    for (device_kind const& k : kinds) all += speed(k);
    std::vector<int> batches;
    int const shared = left;
    for (device_kind const& k : kinds) {
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
    for (std::size_t k = 0; k < batches.size(); ++k) most = max_of(most, of(k, batches[k]).seconds);
    return most;
  }

  // Infinite seconds where nothing fits.
  ranked_layout const& of(std::size_t kind, int batch) {
    for (ranked_layout const& each : known_[kind])
      if (each.asked.batch == batch) return each;
    question one = q_;
    one.cluster = of_kinds(q_.cluster, {static_cast<int>(kind)});
    one.batch = batch;
    layouts_found const found = best_layouts(one, open_, c_, 1, watch_);
    stopped_ = stopped_ || !found.is_whole;
    known_[kind].push_back(found.best.empty() ? ranked_layout{one, never, 0, 0} : found.best[0]);
    return known_[kind].back();
  }

  question q_;
  open_sizes open_;
  constants const& c_;
  layouts_watch watch_;
  std::vector<std::vector<ranked_layout>> known_;
  bool stopped_ = false;
};

}  // namespace shared_batch_detail

double shared_batch::seconds() const {
  double longest = 0;
  for (ranked_layout const& each : shares) longest = max_of(longest, each.seconds);
  return longest + sum;
}

double seconds_between_kinds(question const& q, constants const& c) {
  double const kinds = static_cast<double>(q.cluster.kinds.size()),
               bytes = 2 * 4 * parameters(q.model) * (kinds - 1) / kinds;
  double longest = 0;
  for (device_kind const& k : q.cluster.kinds) {
    double const between = q.cluster.between_kinds,
                 link = between > 0 ? min_of(k.device.outside, between) : k.device.outside;
    longest = max_of(longest, bytes / (k.devices * link * c.link_outside));
  }
  return longest;
}

shared_batch share_batch(question const& q, open_sizes const& open, constants const& c,
                         layouts_watch watch) {
  shared_batch made;
  if (!q.cluster.has_several_kinds()) return made;
  made.shares = shared_batch_detail::batch_sharer(q, open, c, watch).shares();
  if (!made.shares.empty()) made.sum = seconds_between_kinds(q, c);
  return made;
}

}  // namespace ashlar::cost
