// A device of a rank, and its thread during a step.
#pragma once

#include <ashlar/host/device.hpp>
#include <ashlar/host/progress.hpp>
#include <ashlar/run/poll.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ashlar::host {

struct device_end {
  device_end(int number, device_plan const& plan, rank_fabric& fabric, collectives& all,
             worker_ref<queue> w, int window, instruction_time* times)
      : worker(w),
        done(static_cast<std::size_t>(plan.size()), times),
        cursor(plan, window),
        self(number, plan, fabric, all, done) {}

  // Runs a step until its end, or until `stopping`. Throws what the worker throws.
  void run(device_plan const& plan, std::atomic<bool> const& stopping,
           std::chrono::nanoseconds spin_time) {
    struct stopped {};
    auto const noting = [&](auto act) {
      return [&, act](int index) {
        if (stopping.load(std::memory_order_relaxed)) throw stopped{};
        done.working.store(index, std::memory_order_release);
        act(index);
        done.working.store(-1, std::memory_order_release);
      };
    };
    auto const post_one = noting([&](int index) {
      bool const pair = plan.at(index).what.overlaps_next;
      done.begin(index);
      if (pair) done.begin(index + 1);
      post(plan, index, worker, self);
      if (!is_posted_only(plan.at(index).what)) done.finish_quietly(index);
      if (pair) done.finish_quietly(index + 1);
    });
    auto const notify_one = noting([&](int index) {
      if (!is_notified(worker, plan.at(index))) return;
      notify(plan, index, worker, self);
      done.finish_quietly(index);
    });
    try {
      for (;;) {
        std::uint32_t const seen = done.changed.count();
        if (stopping.load(std::memory_order_acquire)) return;
        if (poll<device>(plan, cursor, worker, self, post_one, notify_one)) continue;
        if (cursor.is_at_end(plan, self)) return;
        done.changed.await_change(seen, spin_time);
      }
    } catch (stopped const&) {
    }
  }

  worker_ref<queue> worker;
  progress done;
  poll_cursor cursor;
  device self;

 private:
  // Whether another device may have to come before it is done.
  static bool is_posted_only(instruction const& i) {
    return i.code == opcode::send || i.code == opcode::receive || run_detail::meets_others(i);
  }
};

}  // namespace ashlar::host
