// Workers for such devices.
#pragma once

#include "device.hpp"

namespace adversary {

#define LATE(verb, Frame)                       \
  void verb(device::queue& q, Frame const& f) { \
    q.put(f.site.index, [this, f] {             \
      int none = 0;                             \
      this->inner->verb(none, f);               \
    });                                         \
  }

// A worker whose verbs are put on queues.
template <class Inner>
struct late_worker {
  explicit late_worker(Inner& w) : inner(&w) {}
  value_layout layout(value_key key) const { return inner->layout(key); }
  LATE(forward, frame)
  LATE(recompute, frame)
  LATE(backward, frame)
  LATE(backward_input, frame)
  LATE(backward_weight, frame)
  LATE(work, frame)
  void reduced(device::queue& q, parameter_frame const& f) {
    q.put([this, f] {
      int none = 0;
      inner->reduced(none, f);
    });
  }
  Inner* inner;
};

// A worker that shards and optimizes, too.
template <class Inner>
struct late_sharded_worker : late_worker<Inner> {
  using late_worker<Inner>::late_worker;
  buffer shard(int stage, int replica) { return this->inner->shard(stage, replica); }
  LATE(measure, parameter_frame)
  LATE(optimize, parameter_frame)
};
#undef LATE

}  // namespace adversary
