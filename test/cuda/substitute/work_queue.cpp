#include "work_queue.hpp"

#include "machine.hpp"

#include <exception>
#include <thread>

namespace cuda_substitute {
namespace {

thread_local random_bits* random_of_operation = nullptr;
thread_local bool runs_host_function = false;

std::atomic<std::uint64_t> current_seed{0}, queues{0};
std::atomic<int> longest_delay{0};
std::atomic<std::int64_t> operations{0}, failing_operation{-1};
std::atomic<std::uint64_t> machines{0};  // a queue of an earlier one may still end what it has
std::atomic<cudaError_t> failing_error{cudaSuccess};

void sleep_a_little(random_bits& random) {
  int const longest = longest_delay.load(std::memory_order_relaxed);
  if (longest == 0 || random.below(2) == 0) return;
  std::this_thread::sleep_for(
      std::chrono::microseconds(random.below(static_cast<std::size_t>(longest) + 1)));
}

std::string words_of(std::exception_ptr const& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "something that is no exception";
  }
}

bool chosen_to_fail(std::uint64_t machine) {
  return machine == machines.load(std::memory_order_relaxed)
         && operations.fetch_add(1, std::memory_order_relaxed)
                == failing_operation.load(std::memory_order_relaxed);
}

void run_body(operation& o, std::uint64_t machine) {
  if (chosen_to_fail(machine)) return fail(*o.device, failing_error, o.name + ": chosen to fail");
  if (o.device->error.load(std::memory_order_relaxed) != cudaSuccess) return;
  runs_host_function = o.kind == work::host;
  try {
    o.body();
  } catch (...) {
    fail(*o.device, cudaErrorLaunchFailure, o.name + ": " + words_of(std::current_exception()));
  }
  runs_host_function = false;
}

void run_operation(operation& o, std::uint64_t machine, std::uint64_t salt) {
  for (ticket_ptr const& t : o.after) t->wait();
  random_bits random(current_seed.load(std::memory_order_relaxed) * 0x9e3779b97f4a7c15U + salt);
  random_of_operation = &random;
  sleep_a_little(random);
  if (o.kind != work::marker) run_body(o, machine);
  o.body = {};
  if (o.kind == work::device) release_memory();
  o.done->finish();
}

}  // namespace

random_bits& operation_random() { return *random_of_operation; }
bool in_host_function() { return runs_host_function; }

void reseed(std::uint64_t seed) { current_seed = seed; }

void forget_operations(int delay) {
  longest_delay = delay;
  ++machines;
  failing_operation = -1;
  operations = 0;
  queues = 0;
}
std::size_t operation_count() { return static_cast<std::size_t>(operations.load()); }
void fail_operation(std::size_t nth, cudaError_t error) {
  failing_error = error;
  failing_operation = operations.load() + static_cast<std::int64_t>(nth);
}

work_queue::work_queue() : state_(std::make_shared<state>()) {
  state_->machine = machines.load(std::memory_order_relaxed);
  state_->salt = queues.fetch_add(1, std::memory_order_relaxed) << 32U;
  std::thread([shared = state_] { run(shared); }).detach();
}

work_queue::~work_queue() {
  std::lock_guard const lock(state_->mutex);
  state_->closed = true;
  state_->changed.notify_one();
}

void work_queue::push(operation next) {
  if (next.kind == work::device) hold_memory();
  std::lock_guard const lock(state_->mutex);
  state_->waiting.push_back(std::move(next));
  state_->changed.notify_one();
}

void work_queue::run(std::shared_ptr<state> const& shared) {
  while (true) {
    std::unique_lock lock(shared->mutex);
    shared->changed.wait(lock, [&] { return shared->closed || !shared->waiting.empty(); });
    if (shared->waiting.empty()) return;
    operation next = std::move(shared->waiting.front());
    shared->waiting.pop_front();
    std::uint64_t const salt = shared->salt++;
    lock.unlock();
    run_operation(next, shared->machine, salt);
  }
}

}  // namespace cuda_substitute
