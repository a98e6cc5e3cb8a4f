// Programs driven in each way on adversarial devices.
#pragma once

#include "fabric.hpp"
#include "worker.hpp"
#include <ashlar/conformance/conforms.hpp>
#include <ashlar/program/issue_order.hpp>
#include <ashlar/run/poll.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace adversary {

enum class way : unsigned char { issue, poll, lanes };

// The detail of waits that the queues of a device need.
inline wait_detail detail_for(bool in_order) {
  return in_order ? wait_detail::last_of_a_lane : wait_detail::all;
}

// All ranks and devices of a program.
template <class Worker, class Inner>
class late_machine {
 public:
  late_machine(program const& p, std::vector<Inner*> const& ranks, way how, options o,
               wait_detail detail)
      : p_(p), how_(how), fabric_(o) {
    for (int rank = 0; rank < p.data_ranks; ++rank) {
      workers_.emplace_back(*ranks[static_cast<std::size_t>(rank)]);
      check_able<device>(p.view(), workers_.back());
      for (int d = 0; d < p.device_count(); ++d) {
        auto const& w = workers_.back();
        slot_table const slots =
            slot_layout(p.view(), rank, d, [&](value_key key) { return w.layout(key); });
        memory_.emplace_back(slots.total, slots.alignment);
        away_.emplace_back(slots.host_total, slots.alignment);
        plans_.emplace_back(p.view(), rank, d, w, slots, memory_.back().data(), detail,
                            away_.back().data());
        devices_.push_back(std::make_unique<device>(p.view(), rank, d, fabric_));
        devices_.back()->own(plans_.back(), slots, memory_.back().data(), away_.back().data(),
                             how == way::lanes);
      }
    }
  }

  void run() {
    fabric_.step_begins();
    for (auto& d : devices_) d->step_begins();
    if (how_ == way::issue) {
      // One thread issues for all devices; the ranks do so side by side.
      for (int const i : issue_order(p_.view()))
        for (int rank = 0; rank < p_.data_ranks; ++rank) {
          std::size_t const d = device_of(i), at = this->at(rank, d);
          issue(plans_[at], i - p_.stream_begin[d], workers_[static_cast<std::size_t>(rank)],
                *devices_[at]);
        }
    } else if (how_ == way::poll) {
      std::vector<poll_cursor> cursors(plans_.begin(), plans_.end());
      for (bool all = false; !all;) {
        all = true;
        for (std::size_t at = 0; at < plans_.size(); ++at) {
          poll(plans_[at], cursors[at], worker_of(at), *devices_[at]);
          all = all && cursors[at].is_at_end(plans_[at], *devices_[at]);
        }
        std::this_thread::yield();
      }
    } else {
      std::vector<std::thread> lanes;
      for (std::size_t at = 0; at < plans_.size(); ++at)
        for (int lane = 0; lane < plans_[at].lane_count(); ++lane)
          lanes.emplace_back(
              [this, at, lane] { run_lane(plans_[at], lane, worker_of(at), *devices_[at]); });
      for (std::thread& t : lanes) t.join();
    }
    fabric_.all.drain();
  }

 private:
  std::size_t device_of(int i) const {
    std::size_t d = 0;
    while (p_.stream_begin[d + 1] <= i) ++d;
    return d;
  }
  std::size_t at(int rank, std::size_t device) const {
    return static_cast<std::size_t>(rank) * static_cast<std::size_t>(p_.device_count()) + device;
  }
  Worker& worker_of(std::size_t at) {
    return workers_[at / static_cast<std::size_t>(p_.device_count())];
  }

  program const& p_;
  way how_;
  fabric fabric_;
  std::deque<Worker> workers_;
  std::vector<aligned_memory> memory_, away_;
  std::vector<device_plan> plans_;
  std::vector<std::unique_ptr<device>> devices_;
};

using late = late_worker<conformance::network>;
using late_ranks = late_sharded_worker<conformance::sharded_network>;

template <class Worker, class Inner>
void run_late(program const& p, std::vector<Inner*> const& ranks, way how, options o, wait_detail detail,
              int steps = 1) {
  for (Inner* w : ranks) w->delays = 0;  // there are others
  late_machine<Worker, Inner> machine(p, ranks, how, o, detail);
  for (int step = 0; step < steps; ++step) {
    for (Inner* w : ranks) w->take();  // the last step's results alone
    machine.run();
  }
}

// Runs step after step on the same devices.
class late_steps {
 public:
  void run(program const& p, std::vector<conformance::sharded_network*> const& ranks, way how, options o,
           wait_detail detail) {
    if (of_ != &p) {
      for (conformance::sharded_network* w : ranks) w->delays = 0;
      machine_ = std::make_unique<late_machine<late_ranks, conformance::sharded_network>>(p, ranks, how,
                                                                                          o, detail);
      of_ = &p;
    }
    machine_->run();
  }

 private:
  program const* of_ = nullptr;
  std::unique_ptr<late_machine<late_ranks, conformance::sharded_network>> machine_;
};

}  // namespace adversary
