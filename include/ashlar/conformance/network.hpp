// A real network, small enough to run thousands of times: a worker to test backends with.
#pragma once

#include <ashlar/conformance/network_results.hpp>
#include <ashlar/core/nth.hpp>
#include <ashlar/program/program.hpp>
#include <ashlar/run/contract.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

namespace ashlar::conformance {

// Each stage computes y = tanh(W x + b), where x is the sum of its inputs and b that of the vectors that
// it shares with other stages. The loss of a micro-batch is |y|^2 / 2 at stages without successors. If
// stages have micro-batches of different sizes, a message is still one vector, and x the sum of all that
// meet. If sequences are cut into chunks, the state h of the chunk before is one more input, and the
// stage leaves h / 2 + y to the next. Work, and passes that read from it, add what they read; a job that
// keeps state mixes it with what it had. From gradients that work takes and reads, it adds the first
// row; what it gives back are rows of its own output. Optionally every pass first sleeps for a random
// moment, or calls a hook that may throw.
class network : public network_results {
 public:
  network(int stages, int micro_batches) : network(stages, micro_batches, 0) {}

  // Made for a program whose stages may have parameters in common.
  explicit network(program const& p);
  // Sets the work of the programs that it will run.
  void expect(work_graph const& work) {
    work_ = work;
    expect_parts(work_.view().parts.size());
  }

  std::function<void(pass)> before_pass = [](pass) {};
  std::function<void(int)> before_reduced = [](int) {};
  std::uint64_t delays = 0;       // a seed; 0: none
  int first_micro_batch = 0;      // of its data set: what micro-batch 0 is
  std::size_t message_bytes = 0;  // of a message, at least: the value again and again

  matrix& weights(int stage) { return nth(weights_, stage); }
  matrix const& weights(int stage) const { return nth(weights_, stage); }
  // Parameters of a group, of one stage or several.
  std::span<double> parameters(int group);
  std::span<double const> parameters(int group) const {
    return const_cast<network&>(*this).parameters(group);
  }
  // The worker. Verbs do their work at once, on any queue.
  value_layout layout(value_key key) const;

  void forward(auto&, frame const& f) {
    enter(f.what);
    vector x{};
    if (f.inputs.empty())
      for (std::size_t i = 0; i < width; ++i)
        x[i] = std::cos(static_cast<double>(first_micro_batch + f.what.micro_batch)
                        + static_cast<double>(i));
    for (buffer b : f.inputs) add(x, b);
    add_work(x, f);
    if (!f.checkpoint.empty()) as<vector>(f.checkpoint) = x;
    vector const y = compute(f, x);
    if (!f.sequence_output.empty()) {
      vector state = y;
      add_part_of(state, f.sequence_input, 0.5);
      as<vector>(f.sequence_output) = state;
    }
    if (f.outputs.empty())
      note_loss(f.what, (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]) / 2);
    else
      for (buffer b : f.outputs) write(b, y);  // of a shard the gradient of its input, too
  }
  void recompute(auto&, frame const& f) {
    enter(f.what);
    vector x = as<vector>(f.checkpoint);
    add_work(x, f);
    compute(f, x);
  }
  void backward(auto&, frame const& f) {
    input_gradient(f);
    weight_gradient(f);
  }
  void backward_input(auto&, frame const& f) { input_gradient(f); }
  void backward_weight(auto&, frame const& f) {
    enter(f.what);
    weight_gradient(f);
  }
  void work(auto&, frame const& f) {
    part_id const part = part_of(f.what);
    if (!work_.view().knows(f.what)) throw std::invalid_argument("a network that expects no such work");
    enter(f.what);
    vector made{};
    add_work(made, f);
    job_gradient const use = work_.view().gradient_of(part.job);
    if (use.is<take_gradient>()) {
      as<matrix>(f.micro_gradient) = as<matrix>(f.weight_gradient);
      as<matrix>(f.weight_gradient) = {};
    }
    add_part_of(made, f.micro_gradient, 0.25);
    for (std::size_t i = 0; i < width; ++i)
      made[i] = std::sin(made[i] + part.job + 0.3 * part.part + static_cast<double>(i));
    if (!f.work_state.empty())
      for (std::size_t i = 0; i < width; ++i)
        made[i] = as<vector>(f.work_state)[i] = 0.5 * as<vector>(f.work_state)[i] + made[i];
    if (!f.work_output.empty()) as<vector>(f.work_output) = made;
    if (use.is<give_gradient>())
      for (std::size_t i = 0; i < width * width; ++i)
        as<matrix>(f.weight_gradient)[i] += made[i % width];
    note_work(work_.view().number(part), made);
  }
  void reduced(auto&, parameter_frame const& f) {
    before_reduced(f.group);
    note_gradient(f);
  }

 private:
  network(int stages, int micro_batches, std::size_t shared);

  static void write(buffer message, vector const& value) {
    for (std::size_t at = 0; at < message.size(); at += sizeof value)
      std::memcpy(message.data() + at, &value, std::min(sizeof value, message.size() - at));
  }
  // Throws std::runtime_error for a message whose values are not all the same.
  static void add(vector& sum, buffer message);

  // Adds nothing, if there is no such value.
  static void add_part_of(vector& sum, buffer value, double part) {
    if (!value.empty())
      for (std::size_t i = 0; i < width; ++i) sum[i] += part * as<vector>(value)[i];
  }
  // Adds work of any kind, by its first numbers.
  static void add_work(vector& sum, frame const& f) {
    for (work_port const& p : f.work_inputs) add_part_of(sum, p.bytes, 0.25);
  }

  // The weights, gathered if the program shards them.
  matrix const& weights_for(frame const& f) {
    return f.weight.empty() ? weights(f.what.stage) : as<matrix>(f.weight);
  }

  // Takes x, all of the input but the sequence's state.
  vector compute(frame const& f, vector x);

  void input_gradient(frame const& f);

  void weight_gradient(frame const& f) const;

  void enter(pass what);

  std::vector<matrix> weights_;
  std::vector<vector> shared_;                       // what groups of stages have in common
  std::vector<std::vector<std::size_t>> shared_of_;  // by stage, indices of the above
  work_graph work_;
};
static_assert(worker<network>);

}  // namespace ashlar::conformance

#ifndef ASHLAR_COMPILED
#include <ashlar/conformance/network.ipp>
#endif
