// A device that notes what is put on its queues, workers for it, and plans that both run.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/run/drive.hpp>
#include <ashlar/run/host_memory.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace written_device {

using namespace ashlar;

// Notes what is put on its queues; events happen when the test says so.
struct written {
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct queue {
    int lane = 0;
  };
  struct event {
    bool recorded = false, happened = false;
  };
  explicit written(device_plan const& plan)
      : queues(static_cast<std::size_t>(plan.lane_count())),
        events(static_cast<std::size_t>(plan.events().count())) {}

  queue& queue_of(int lane) { return queues[static_cast<std::size_t>(lane)]; }
  event& event_of(int n) { return events[static_cast<std::size_t>(n)]; }
  void record(queue&, event& e) {
    e.recorded = true;
    e.happened = at_once;
  }
  void wait(queue&, event& e) { CHECK(e.recorded); }
  bool query(event& e) const {
    CHECK(e.recorded);
    return e.happened;
  }
  void send(queue&, transfer_call const& t) {
    text += "send" + std::to_string(t.what.what.micro_batch) + ' ';
  }
  void receive(queue&, transfer_call const& t) {
    text += "receive" + std::to_string(t.what.what.micro_batch) + ' ';
  }
  void clear(queue&, buffer) { text += "clear "; }

  std::vector<queue> queues;
  std::vector<event> events;
  std::string text;
  bool at_once = false;
};
static_assert(device_backend<written> && !collective_backend<written>);

// A worker that needs no more than 1F1B asks for.
struct plain {
  written* device;
  value_layout layout(value_key) const { return {64, 64, element_type::f64}; }
  void forward(written::queue&, frame const& f) {
    device->text += 'F' + std::to_string(f.what.micro_batch) + ' ';
  }
  void backward(written::queue&, frame const& f) {
    device->text += 'B' + std::to_string(f.what.micro_batch) + ' ';
  }
};

inline int count_of_word(std::string const& text, std::string const& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

struct setup {
  setup(program const& p, int d, wait_detail detail = wait_detail::last_of_a_lane)
      : slots(slot_layout(p.view(), 0, d, [](value_key) { return value_layout{64}; })),
        memory(slots.total, slots.alignment),
        plan(p.view(), 0, d, plain{}, slots, memory.data(), detail),
        device(plan),
        worker{&device} {}
  slot_table slots;
  aligned_memory memory;
  device_plan plan;
  written device;
  plain worker;
};

// A device that notes also what it sums, what it records and who waits.
struct summing_device : written {
  using written::written;
  void record(queue& q, event& e) {
    text += "record ";
    written::record(q, e);
  }
  void wait(queue& q, event&) { text += "wait" + std::to_string(&q - queues.data()) + ' '; }
  void all_reduce(queue&, collective_call const&) { text += "sum "; }
  void all_gather(queue&, collective_call const&) {}
  void reduce_scatter(queue&, collective_call const&) {}
};

struct listening_worker : plain {
  void reduced(summing_device::queue&, parameter_frame const&) { device->text += "told "; }
  buffer shard(int group, int replica) {
    device->text += "shard" + std::to_string(group) + 'r' + std::to_string(replica) + ' ';
    return {};
  }
};

struct summing_setup {
  summing_setup(program const& p, int d)
      : slots(slot_layout(p.view(), 0, d, [](value_key) { return value_layout{64}; })),
        memory(slots.total, slots.alignment),
        plan(p.view(), 0, d, listening_worker{}, slots, memory.data(), wait_detail::all),
        device(plan),
        worker{{&device}} {}
  slot_table slots;
  aligned_memory memory;
  device_plan plan;
  summing_device device;
  listening_worker worker;
};

}  // namespace written_device
