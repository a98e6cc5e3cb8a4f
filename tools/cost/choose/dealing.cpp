#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/cost/choose/dealing.hpp>
#include <ashlar/cost/choose/dealing_bound.hpp>
#include <ashlar/cost/choose/dealing_by_speed.hpp>
#include <ashlar/cost/choose/dealing_executed.hpp>
#include <ashlar/cost/choose/dealing_moves.hpp>
#include <ashlar/cost/question/even_divisions.hpp>
#include <ashlar/cost/question/rank_questions.hpp>
#include <ashlar/cost/question/stage_devices.hpp>
#include <ashlar/cost/question/stage_layout.hpp>
#include <ashlar/cost/step/exchanges.hpp>
#include <ashlar/cost/step/memory.hpp>
#include <ashlar/cost/step/once_a_step.hpp>
#include <ashlar/cost/step/step.hpp>

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

namespace ashlar::cost {

namespace dealing_detail {

inline constexpr double most_executed = 3e4;  // passes, over all divisions that are tried

// Minimizes seconds of a step: `pipeline` x lost + once + update, where `lost` is the stragglers'
// factor.
class dealer {
 public:
  dealer(question const& q, constants const& c, double enough)
      : q_(q), c_(c), on_(q), stages_(q.layout.pipeline * q.layout.chunks) {
    lost_ = 1 + c.straggler * std::log2(max_of(1.0, node_count(q.cluster)));
    for (int d = 0; d < q.layout.pipeline; ++d) {
      in_flight_.push_back(in_flight(q, d));
      kind_of_.push_back(add_kind(on_.of(d), enough));
      int const last = q.layout.pipeline - 1;
      if (last == 0) continue;
      ahead_.push_back(&on_.between(d, d < last ? d + 1 : d - 1));
      behind_.push_back(&on_.between(d, d > 0 ? d - 1 : d + 1));
    }
  }

  // Exact, for no virtual stages. The step is the largest of (n - 1) W + once over the stages, plus the
  // sum of all W. Given a limit on the former, the least sum is a shortest path.
  dealing without_chunks() {
    std::vector<double> limits;
    for (int d = 0; d < stages_; ++d) {
      shares_.emplace_back();
      for (segment const& s : known(d).all()) shares_.back().push_back(share_of(s, d));
      limits.insert(limits.end(), shares_.back().begin(), shares_.back().end());
      if (!q_.cluster.has_several_kinds()) break;
    }
    merge_sort(limits, [](double a, double b) { return a < b; });
    dealing best;
    best.seconds = nothing;
    double const least = shortest(limits.back()).sum;
    if (least == nothing) return {};
    std::size_t low = 0, high = limits.size() - 1;
    while (low < high) {
      std::size_t const middle = low + (high - low) / 2;
      if (shortest(limits[middle]).sum < nothing)
        high = middle;
      else
        low = middle + 1;
    }
    for (; low < limits.size() && limits[low] + lost_ * least < best.seconds * (1 - same_seconds);
         ++low) {
      path const found = shortest(limits[low]);
      double const seconds = limits[low] + lost_ * found.sum;
      if (seconds < best.seconds) best = {.stages = stages_of_path(found), .seconds = seconds};
    }
    best.bound = best.seconds;
    return best;
  }

  dealt_pieces pieces() const {
    dealt_pieces made{.parts = known(0).parts(),
                      .all = {},
                      .in_flight = {},
                      .room = capacity(0) - c_.outside_bytes,
                      .ends = ends_of(q_.layout.stages)};
    for (segment const& s : known(0).all())
      made.all.push_back({s.first, s.end, share_of(s, 0), lost_ * s.seconds, s.bytes, s.needs.kept});
    for (std::vector<int> const& each : in_flight_) made.in_flight.push_back(each[0]);
    return made;
  }

  // Moves one part from a stage to another, which shifts all between: first by the closed form, then,
  // with even rounds and `own` stages as further starts, by the executed time of uneven ones.
  dealing with_chunks(std::vector<stage> const& own) {
    std::vector<int> ends = ends_of(q_.layout.stages), others = ends;
    improve(ends);
    executes_ = true;
    outcome best_of_even = weigh(others);
    for (std::vector<stage> const& stages : deals_in_even_rounds(q_.model, q_.layout)) {
      std::vector<int> const even = ends_of(stages);
      outcome const then = weigh(even);
      if (!(then < best_of_even)) continue;
      others = even;
      best_of_even = then;
    }
    outcome now = improve(ends);
    auto const also_from = [&](std::vector<int> start) {
      outcome const then = improve(start);
      if (!(then < now)) return;
      ends = start;
      now = then;
    };
    also_from(others);
    if (!own.empty()) also_from(ends_of(own));
    if (now.over > 0) return {};
    dealing made{
        .stages = {}, .seconds = now.seconds, .bound = least_seconds(q_, asked_, known_, lost_, c_)};
    for (int s = 0; s < stages_; ++s) made.stages.push_back(segment_of(ends, s)->has);
    return made;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // The segments on devices like this one, and the question that they were asked with.
  segments const& known(int device) const { return *known_[kind_of_[at(device)]]; }
  std::size_t add_kind(question const& asked, double enough) {
    for (std::size_t i = 0; i < asked_.size(); ++i)
      if (asked_[i] == &asked) return i;
    asked_.push_back(&asked);
    known_.push_back(std::make_unique<segments>(asked, c_, enough));
    return asked_.size() - 1;
  }

  // Seconds beyond those of its own kind that a device's messages take to neighbours of other kinds.
  struct messages {
    double forward = 0, backward = 0;
  };
  messages more_to_send(segment const& s, int d) const {
    if (!q_.cluster.has_several_kinds() || q_.layout.chunks > 1) return {};
    question const& own = on_.of(d);
    auto const more = [&](question const& to, double bytes) {
      return &to == &own ? 0 : transfer_seconds(to, bytes, c_) - transfer_seconds(own, bytes, c_);
    };
    return {more(*ahead_[at(d)], bytes_after(q_, s.has)),
            more(*behind_[at(d)], bytes_before(q_, s.has))};
  }
  double seconds_of(segment const& s, int device) const {
    if (!q_.cluster.has_several_kinds()) return s.seconds;
    messages const more = more_to_send(s, device);
    return s.seconds + more.forward + more.backward;
  }

  double share_of(segment const& s, int device) const {
    double const n = q_.micro_batches(), seconds = seconds_of(s, device);
    messages const more = more_to_send(s, device);
    device_seconds const beside{.all = n * seconds,
                                .forward = s.passes.forward.seconds() + more.forward,
                                .backward = s.passes.backward.seconds() + more.backward,
                                .largest = seconds};
    once_a_step const once = once_on(on_.of(device), s.needs.held.trained, beside, 1, c_);
    return (n - 1) * seconds * lost_ + once.data + once.optimizer;
  }
  double share(std::size_t k, int device) const {
    return shares_[shares_.size() > 1 ? at(device) : 0][k];
  }
  double capacity(int device) const { return on_.of(device).cluster.device().memory_bytes; }
  bool is_within_memory(segment const& s, int device) const {
    return fits(on_.of(device).cluster.device(), s.bytes + in_flight_[at(device)][0] * s.needs.kept, c_);
  }

  struct path {
    double sum = nothing;
    std::vector<int> from;  // by stage and end: where the stage begins
  };
  // Finds stages whose share is at most `limit` with the least sum of seconds.
  path shortest(double limit) const {
    int const n = known(0).parts();
    path found;
    found.from.assign(at(stages_) * at(n + 1), -1);
    std::vector<double> sums(at(n) + 1, nothing);
    sums[0] = 0;
    for (int s = 0; s < stages_; ++s) {
      std::vector<double> next(at(n) + 1, nothing);
      for (std::size_t k = 0; k < known(s).all().size(); ++k) {
        segment const& each = known(s).all()[k];
        if (share(k, s) > limit) continue;
        double const sum = sums[at(each.first)] + seconds_of(each, s);
        if (!(sum < next[at(each.end)]) || !is_within_memory(each, s)) continue;
        next[at(each.end)] = sum;
        found.from[at(s) * at(n + 1) + at(each.end)] = each.first;
      }
      sums = next;
    }
    found.sum = sums[at(n)];
    return found;
  }
  std::vector<stage> stages_of_path(path const& found) const {
    int const n = known(0).parts();
    std::vector<stage> all(at(stages_));
    for (int s = stages_ - 1, end = n; s >= 0; --s) {
      int const first = found.from[at(s) * at(n + 1) + at(end)];
      all[at(s)] = known(s).find(first, end)->has;
      end = first;
    }
    return all;
  }

  std::vector<int> ends_of(std::vector<stage> const& all) const { return known(0).chain().ends_of(all); }
  segment const* segment_of(std::vector<int> const& ends, int s) const {
    int const first = s == 0 ? 0 : ends[at(s) - 1];
    return first < ends[at(s)] ? known(s % q_.layout.pipeline).find(first, ends[at(s)]) : nullptr;
  }
  outcome improve(std::vector<int>& ends) {
    return improved(
        ends, weigh(ends), [&](std::vector<int> const& other) { return weigh(other); },
        [&](int stage, int device) { return stage % q_.layout.pipeline == device; },
        [&] { return executed_ < most_executed; });
  }
  outcome weigh(std::vector<int> const& ends) {
    double const n = q_.micro_batches();
    int const p = q_.layout.pipeline;
    outcome made{.over = 0, .seconds = 0};
    std::vector<device_seconds> devices(at(p));
    std::vector<stage_needs> needs(at(p));
    std::vector<stage_passes> passes;
    double largest = 0, most_over = 0;
    for (int s = 0; s < stages_; ++s) {
      segment const* const has = segment_of(ends, s);
      bool const predicts_early = has != nullptr && has->has.predictions > 0 && s < stages_ - p;
      if (has == nullptr || predicts_early) return {};
      passes.push_back(has->passes);
      device_seconds& d = devices[at(s % p)];
      d.all += n * has->seconds;
      d.forward += has->passes.forward.seconds();
      d.backward += has->passes.backward.seconds();
      d.largest = max_of(d.largest, has->seconds);
    }
    for (device_seconds const& d : devices) largest += d.largest;
    bool const executes = executes_ && has_uneven_rounds(q_, passes);
    double const last_end = executes ? interleaved_seconds(q_, passes) : 0;
    if (executes) executed_ += passes_of_interleaved(q_);
    double longest = -1;
    for (int d = 0; d < p; ++d) {
      double activations = 0;
      for (int chunk = 0; chunk < q_.layout.chunks; ++chunk) {
        stage_needs const& each = segment_of(ends, chunk * p + d)->needs;
        activations += in_flight_[at(d)][at(chunk)] * each.kept;
        needs[at(d)].add(each);
      }
      double const bytes = memory_of_device(on_.of(d), needs[at(d)], activations, 1, c_).all();
      double const over = bytes + c_.outside_bytes - capacity(d);
      device_seconds const& each = devices[at(d)];
      once_a_step const once = once_on(on_.of(d), needs[at(d)].held.trained, each, 1, c_);
      double const busy = executes ? last_end : each.all + largest - each.largest;
      double const seconds = busy * lost_ + once.data + once.optimizer;
      made.squares += seconds * seconds;
      if (over > 0) made.over += over;
      if (over > most_over || (most_over == 0 && seconds > longest)) made.device = d;
      most_over = max_of(most_over, over);
      longest = max_of(longest, seconds);
    }
    made.seconds = longest;
    return made;
  }

  question const& q_;
  constants const& c_;
  rank_questions on_;
  int stages_;
  std::vector<question const*> asked_;  // of each kind
  std::vector<std::unique_ptr<segments>> known_;
  std::vector<std::size_t> kind_of_;             // by device
  std::vector<question const*> ahead_, behind_;  // for messages of each device
  std::vector<std::vector<double>> shares_;  // of segments by device; one for all if they are of a kind
  double lost_ = 1;
  std::vector<std::vector<int>> in_flight_;
  bool executes_ = false;  // uneven rounds
  double executed_ = 0;    // passes
};

}  // namespace dealing_detail

dealing deal_layers(question const& asked, constants const& c) {
  if (asked.layout.is_executed()) return dealing_detail::deal_executed(asked, c);
  question q = asked;
  q.layout.stages = deal_evenly(q.model, q.layout);
  check(q);
  if (q.cluster.has_several_kinds()) q.layout.stages = deal_by_speed(q, placement_of(q), c);
  double enough = dealing_detail::nothing;
  if (fits(q, memory_of(q, q.layout.stages, c), c)) enough = step_of(q, q.layout.stages, c).seconds;
  dealing_detail::dealer by(q, c, enough);
  dealing made = q.layout.chunks == 1 ? by.without_chunks() : by.with_chunks(asked.layout.stages);
  if (made.stages.empty()) return made;
  step_terms const step = step_of(q, made.stages, c);
  made.bound = min_of(q.layout.chunks == 1 ? step.seconds : made.bound + step.update, step.seconds);
  made.seconds = step.seconds;
  return made;
}

dealt_pieces pieces_of(question const& q, constants const& c) {
  return dealing_detail::dealer(q, c, dealing_detail::nothing).pieces();
}

}  // namespace ashlar::cost
