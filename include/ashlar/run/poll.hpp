// Drives a plan step by step as requests complete.
#pragma once

#include <ashlar/core/function_ref.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/drive.hpp>

#include <cstddef>
#include <vector>

namespace ashlar {

// Acts on the instruction at an index.
using act_on = function_ref<void(int)>;

// The progress of a polled step.
class poll_cursor {
 public:
  // Begins a step. `window`: the first ready pass among the next `window` passes starts; above 1, the
  // plan must be for wait_detail::any_pass_order.
  explicit poll_cursor(device_plan const& plan, int window = 1)
      : next_(static_cast<std::size_t>(plan.lane_count()), 0),
        half_(next_.size(), 0),
        window_(window),
        ahead_(window > 1 ? plan.lane(compute_lane).size() : 0, 0) {}

  // Begins another step.
  void reset() {
    next_.assign(next_.size(), 0);
    half_.assign(half_.size(), 0);
    ahead_.assign(ahead_.size(), 0);
  }

  // Whether an instruction has been posted; and whether it is done, by its event.
  bool is_posted(device_plan const& plan, int index) const {
    int const lane = plan.at(index).what.lane, at = plan.position(index);
    return at < nth(next_, lane) || (lane == compute_lane && window_ > 1 && nth(ahead_, at) != 0);
  }
  template <class D>
  bool is_done(device_plan const& plan, int index, D& d) const {
    return is_posted(plan, index) && d.query(d.event_of(plan.events().event_of(index)));
  }
  // Whether the step has ended.
  template <class D>
  bool is_at_end(device_plan const& plan, D& d) const {
    for (int const last : plan.events().last())
      if (!is_done(plan, last, d)) return false;
    return true;
  }

  // Advances a lane by one instruction, if it can. `post` and `notify` take its index.
  template <class D>
  bool advance(device_plan const& plan, int lane, worker_of<D> w, D& d, act_on post, act_on notify) {
    if (lane == compute_lane && window_ > 1) return start_first_ready(plan, d, post, notify);
    int& next = nth(next_, lane);
    char& half = nth(half_, lane);
    if (next == static_cast<int>(plan.lane(lane).size())) return false;
    int const index = nth(plan.lane(lane), next);
    bool const waits_to_notify = lane != compute_lane && is_notified(w, plan.at(index));
    if (half == 0) {
      if (!is_ready(plan, index, d)) return false;
      post(index);
      if (waits_to_notify) {
        record(plan, index, d);
        half = 1;
        return true;
      }
    } else if (!d.query(d.event_of(plan.events().event_of(index)))) {
      return false;
    }
    notify(index);
    record(plan, index, d);
    half = 0;
    ++next;
    return true;
  }

 private:
  template <class D>
  bool is_ready(device_plan const& plan, int index, D& d) const {
    for (int const other : plan.events().waits_of(index))
      if (!is_done(plan, other, d)) return false;
    return true;
  }

  // Advances the lane of passes, whose instructions are over when they have been posted. The waits keep
  // every order that matters.
  template <class D>
  bool start_first_ready(device_plan const& plan, D& d, act_on post, act_on notify) {
    std::vector<int> const& lane = plan.lane(compute_lane);
    int& next = nth(next_, compute_lane);
    int const end = static_cast<int>(lane.size());
    for (int at = next; at < end && at - next < window_; ++at) {
      int const index = nth(lane, at);
      if (nth(ahead_, at) != 0 || !is_ready(plan, index, d)) continue;
      post(index);
      notify(index);
      record(plan, index, d);
      nth(ahead_, at) = 1;
      while (next < end && nth(ahead_, next) != 0) ++next;
      return true;
    }
    return false;
  }

  std::vector<int> next_;   // by lane: instructions posted and reported
  std::vector<char> half_;  // posted, but the worker has not been notified
  int window_;
  std::vector<char> ahead_;  // by position on the lane of passes: started; empty without a window
};

// Posts everything that can be posted now, but returns after the first pass. Returns whether it posted
// anything. Transfers go first. For devices whose verbs return at once, or as soon as the worker has
// computed. The step has ended when cursor.is_at_end().
template <class D>
bool poll(device_plan const& plan, poll_cursor& cursor, worker_of<D> w, D& d, act_on post,
          act_on notify) {
  bool moved = false;
  for (bool again = true; again;) {
    again = false;
    for (int lane = plan.lane_count(); lane-- > first_transfer_lane;)
      while (cursor.advance<D>(plan, lane, w, d, post, notify)) moved = again = true;
  }
  return cursor.advance<D>(plan, compute_lane, w, d, post, notify) || moved;
}

template <class D>
bool poll(device_plan const& plan, poll_cursor& cursor, worker_of<D> w, D& d) {
  return poll<D>(
      plan, cursor, w, d, [&](int index) { post<D>(plan, index, w, d); },
      [&](int index) { notify<D>(plan, index, w, d); });
}

}  // namespace ashlar
