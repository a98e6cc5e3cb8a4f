// expect: a device has all of all_reduce\(\), all_gather\(\) and reduce_scatter\(\)
// A device with one collective alone.
#include <ashlar/run/contract.hpp>

using namespace ashlar;

struct half_a_device {
  static constexpr progress_level needs = progress_level::independent_lanes;
  struct queue {
  } only;
  struct event {
  } none;
  queue& queue_of(int) { return only; }
  event& event_of(int) { return none; }
  void record(queue&, event&) {}
  void wait(queue&, event&) {}
  bool query(event&) { return true; }
  void send(queue&, transfer_call const&) {}
  void receive(queue&, transfer_call const&) {}
  void clear(queue&, buffer) {}
  void all_reduce(queue&, collective_call const&) {}
#ifdef OK
  void all_gather(queue&, collective_call const&) {}
  void reduce_scatter(queue&, collective_call const&) {}
#endif
};

int main() { require_device<half_a_device>(); }
