// What programs with shared weights ask of a worker and a backend besides the verbs of run.hpp. Whoever
// does not run such programs need not offer it.
#pragma once

#include <ashlar/program/instruction.hpp>
#include <ashlar/program/names.hpp>

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar {

// Keeps this rank's shard of each stage's weights between steps: shard_of(bytes(slot_kind::weight,
// stage), rank, ranks). Its passes read the whole weights from frame::weight, and its accumulate() gets
// parts of gradients, as large as the buffers say. `replica` is the device's number among those that
// hold the stage; a worker that has one memory for all of them may ignore it.
template <class W>
concept sharding_worker = requires(W& w, int stage, int replica) {
  { w.shard(stage, replica) } -> std::convertible_to<std::span<std::byte>>;
};

// Takes a stage's optimizer step, with its whole gradient or with this rank's shard of it. Called for
// each replica; one memory for all of them has to take the step for one of them only.
template <class W>
concept optimizing_worker = requires(W& w, int stage, int replica, std::span<std::byte> gradient) {
  w.optimize(stage, replica, gradient);
};

// Measures gradients, and is told the sum over all stages: on each device, perhaps from several threads
// at once.
template <class W>
concept measuring_worker = requires(W& w, int stage, std::span<std::byte> gradient, double sum) {
  { w.squared_norm(stage, gradient) } -> std::convertible_to<double>;
  w.statistics(sum);
};

// A stage's gradient, complete.
struct held_gradient {
  int stage = 0;
  std::span<std::byte> bytes;
};

namespace run_detail {

[[noreturn]] inline void refuse(instruction const& i, char const* who) {
  throw std::invalid_argument(std::string(who) + " cannot do the instruction " + to_string(i));
}

template <class Worker, class Transport>
void gather(instruction const& i, int member, std::span<std::byte> whole, Worker& w, Transport& t) {
  if constexpr (!sharding_worker<Worker>)
    refuse(i, "the worker");
  else if constexpr (requires { t.gather(i, whole, whole); })
    t.gather(i, w.shard(i.group, member), whole);
  else
    refuse(i, "the backend");
}

template <class Transport>
void scatter(instruction const& i, std::span<std::byte> whole, std::span<std::byte> shard,
             Transport& t) {
  if constexpr (requires { t.scatter(i, whole, shard); })
    t.scatter(i, whole, shard);
  else
    refuse(i, "the backend");
}

inline double number_in(std::span<std::byte> scalar) {
  double number = 0;
  std::memcpy(&number, scalar.data(), sizeof number);
  return number;
}

template <class Worker>
void optimize(instruction const& i, int member, std::span<std::byte> gradient,
              std::span<std::byte> scalar, Worker& w) {
  if constexpr (measuring_worker<Worker>)
    if (!scalar.empty()) w.statistics(number_in(scalar));
  if constexpr (optimizing_worker<Worker>)
    w.optimize(i.group, member, gradient);
  else
    refuse(i, "the worker");
}

// Of the gradients that this device counts for.
template <class Worker>
void measure(instruction const& i, std::vector<held_gradient> const& mine, std::span<std::byte> scalar,
             Worker& w) {
  if constexpr (!measuring_worker<Worker>) {
    refuse(i, "the worker");
  } else {
    double sum = 0;
    for (held_gradient const& g : mine) sum += static_cast<double>(w.squared_norm(g.stage, g.bytes));
    std::memcpy(scalar.data(), &sum, sizeof sum);
  }
}

template <class Transport>
void sum_scalar(instruction const& i, std::span<std::byte> scalar, Transport& t) {
  if (i.lane == compute_lane) return;
  if constexpr (requires { t.statistics(i, 0.0); }) {
    double const sum = t.statistics(i, number_in(scalar));
    std::memcpy(scalar.data(), &sum, sizeof sum);
  } else {
    refuse(i, "the backend");
  }
}

}  // namespace run_detail

}  // namespace ashlar
