// The host's devices: what a device's thread posts, and how it learns that this is done.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/host/channel.hpp>
#include <ashlar/host/collectives.hpp>
#include <ashlar/host/progress.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace ashlar::host {

// The channels between the devices of one rank.
class rank_fabric {
 public:
  rank_fabric(int devices, std::vector<device_plan> const& plans, std::size_t first_plan, send_mode mode,
              std::uint32_t depth)
      : devices_(static_cast<std::size_t>(devices)), channels_(devices_ * devices_) {
    std::vector<std::size_t> messages(channels_.size(), 0), largest(channels_.size(), 0);
    for (std::size_t d = 0; d < devices_; ++d) {
      device_plan const& plan = plans[first_plan + d];
      for (int i = 0; i < plan.size(); ++i) {
        device_plan::step const& s = plan.at(i);
        if (s.what.code != opcode::send && s.what.code != opcode::receive) continue;
        auto const peer = static_cast<std::size_t>(s.what.peer);
        std::size_t const at = s.what.code == opcode::send ? d * devices_ + peer : peer * devices_ + d;
        ++messages[at];  // of both halves: enough for either
        largest[at] = std::max(largest[at], s.transfer().bytes.size());
      }
    }
    for (std::size_t at = 0; at < channels_.size(); ++at)
      if (messages[at] > 0)
        channels_[at] =
            std::make_unique<channel>(static_cast<int>(at / devices_), static_cast<int>(at % devices_),
                                      mode, depth, largest[at], messages[at]);
  }

  channel& between(int source, int target) {
    return *channels_[static_cast<std::size_t>(source) * devices_ + static_cast<std::size_t>(target)];
  }
  void reset() {
    for (auto& c : channels_)
      if (c) c->reset();
  }

 private:
  std::size_t devices_;
  std::vector<std::unique_ptr<channel>> channels_;  // by source and target
};

// A lane: what was posted on it last, and has not been recorded.
struct queue {
  static constexpr int nothing = -1;
  int last = nothing;
};

// A device of one rank. Passes run on the calling thread. A posted part is done by the last to come to
// it, hence between two passes of some device.
class device {
 public:
  static constexpr progress_level needs = progress_level::independent_lanes;
  using queue = host::queue;
  struct event {
    int of = queue::nothing;  // the instruction that it tells of; nothing: one that blocked
  };

  device(int number, device_plan const& plan, rank_fabric& fabric, collectives& all, progress& mine)
      : number_(number),
        fabric_(&fabric),
        collectives_(&all),
        progress_(&mine),
        queues_(static_cast<std::size_t>(plan.lane_count())),
        events_(static_cast<std::size_t>(plan.events().count())) {}

  // Forgets, before a step, what a failed step has left on the queues.
  void reset() {
    for (queue& q : queues_) q.last = queue::nothing;
  }

  queue& queue_of(int lane) { return nth(queues_, lane); }
  event& event_of(int number) { return nth(events_, number); }
  void record(queue& q, event& e) {
    e.of = q.last;
    q.last = queue::nothing;
  }
  bool query(event const& e) const { return e.of == queue::nothing || progress_->is_done(e.of); }
  void wait(queue&, event const& e) {
    for (std::uint32_t seen = progress_->changed.count(); !query(e); seen = progress_->changed.count())
      progress_->changed.await_change(seen, {});
  }

  void send(queue& q, transfer_call const& t) {
    fabric_->between(number_, t.peer).send(t.what, t.bytes, mine(q, t.site));
  }
  void receive(queue& q, transfer_call const& t) {
    fabric_->between(t.peer, number_).receive(t.what, t.bytes, mine(q, t.site));
  }
  void clear(queue&, buffer bytes) {
    if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
  }
  void offload(queue&, copy_call const& c) {
    if (!c.on_host.empty()) std::memcpy(c.on_host.data(), c.on_device.data(), c.on_host.size());
  }
  void reload(queue&, copy_call const& c) {
    if (!c.on_host.empty()) std::memcpy(c.on_device.data(), c.on_host.data(), c.on_host.size());
  }
  void all_reduce(queue& q, collective_call const& c) {
    collectives_->post(c, mine(q, c.site), collectives::all_reduce);
  }
  void all_gather(queue& q, collective_call const& c) {
    collectives_->post(c, mine(q, c.site), collectives::all_gather);
  }
  void reduce_scatter(queue& q, collective_call const& c) {
    collectives_->post(c, mine(q, c.site), collectives::reduce_scatter);
  }

 private:
  posted mine(queue& q, work_site const& at) {
    q.last = at.index;
    progress_->post(at.index);
    return {progress_, at.index};
  }

  int number_;
  rank_fabric* fabric_;
  collectives* collectives_;
  progress* progress_;
  std::vector<queue> queues_;
  std::vector<event> events_;
};
static_assert(collective_backend<device> && offloading_backend<device>);

}  // namespace ashlar::host
