// Lets tests steer the machine: a new one, calls that fail, live objects.
#include "graph.hpp"
#include "machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace cuda_substitute {

namespace {

std::mutex calls_mutex;
std::size_t calls_made = 0, failing_call = SIZE_MAX, calls_of_name_left = 0;
std::string failing_name;
cudaError_t call_error = cudaSuccess;
std::vector<std::string> names;
bool list_names = false;

void set_up(machine& m, settings const& chosen) {
  m.chosen = chosen;
  m.devices.clear();
  for (int d = 0; d < chosen.devices; ++d) {
    m.devices.push_back(std::make_shared<device_state>());
    m.devices.back()->number = d;
    m.devices.back()->legacy = new CUstream_st{.device = m.devices.back(), .blocking = true};
  }
}

}  // namespace

// It is never destroyed: operations that never end may still use it when the program ends.
machine& the_machine() {
  static machine& m = [&]() -> machine& {
    auto* made = new machine;
    settings chosen;
    if (char const* bytes = std::getenv("CUDA_SUBSTITUTE_MEMORY")) chosen.memory = std::stoull(bytes);
    set_up(*made, chosen);
    return *made;
  }();
  return m;
}

void reset(settings const& chosen) {
  machine& m = the_machine();
  std::lock_guard const lock(m.mutex);
  for (auto const& d : m.devices) delete d->legacy;
  for (cudaStream_t s : m.streams) delete s;
  for (cudaEvent_t e : m.events) delete e;
  m.streams.clear();
  m.events.clear();
  forget_graphs(m);
  m.captures.clear();
  m.largest_shared_memory = 0;
  forget_memory(m);
  forget_operations(chosen.delay);
  reseed(chosen.seed);
  set_up(m, chosen);
  forget_faults();
  forget_ranges();
  make_current(0);
  std::lock_guard const calls_lock(calls_mutex);
  calls_made = 0;
  failing_call = SIZE_MAX;
  failing_name.clear();
  names.clear();
  list_names = chosen.list_calls;
}

std::size_t call_count() {
  std::lock_guard const lock(calls_mutex);
  return calls_made;
}

std::vector<std::string> calls() {
  std::lock_guard const lock(calls_mutex);
  return names;
}

void fail_call(std::size_t nth, cudaError_t error) {
  std::lock_guard const lock(calls_mutex);
  failing_call = calls_made + nth;
  call_error = error;
}

void fail_call_of(std::string const& name, std::size_t nth, cudaError_t error) {
  std::lock_guard const lock(calls_mutex);
  failing_name = name;
  calls_of_name_left = nth;
  call_error = error;
}

cudaError_t injected(char const* call) {
  std::lock_guard const lock(calls_mutex);
  if (list_names) names.emplace_back(call);
  if (!failing_name.empty() && failing_name == call && calls_of_name_left-- == 0) {
    failing_name.clear();
    failing_call = calls_made;
  }
  return calls_made++ == failing_call ? call_error : cudaSuccess;
}

live_objects live() {
  machine& m = the_machine();
  std::lock_guard const lock(m.mutex);
  live_objects l{.streams = m.streams.size(),
                 .events = m.events.size(),
                 .graphs = m.graphs.size(),
                 .executable_graphs = m.executables.size()};
  for (auto const& [address, a] : m.memory) {
    ++(a.device ? l.device_allocations : l.host_allocations);
    (a.device ? l.device_bytes : l.host_bytes) += a.bytes;
  }
  return l;
}

std::size_t most_device_bytes(int device) {
  machine& m = the_machine();
  std::lock_guard const lock(m.mutex);
  return m.devices.at(static_cast<std::size_t>(device))->most;
}

}  // namespace cuda_substitute
