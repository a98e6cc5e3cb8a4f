// The team that trains together: the workers of this process, and those of others.
#pragma once

#include "command.hpp"
#include "train/train_worker.hpp"
#include "train/training.hpp"
#include <ashlar/program/program.hpp>
#include <ashlar/run/instruction_time.hpp>
#include <ashlar/run/measure_transfers.hpp>

#include <gpt/adam.hpp>
#include <gpt/batch.hpp>
#include <gpt/exact_sum.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tool {

// Tasks of a step besides the passes.
struct step_plan {
  gpt::adam_options optimizer = {};  // for a backend whose step ends with it
  bool looked_at = false;            // is its gradient, and what the weights were, wanted on the host?
};

// The processors that compute: 16 cores.
struct processors {
  int count = 0;
  char const* name = "core";
};

// The links that a backend that measures itself is asked for.
enum class link_class : unsigned char { inside, between };  // nodes
using ashlar::measure::probe;

// The interface of a backend. A process has a run of devices, numbered rank after rank, and a worker for
// each data-parallel rank that has one of them. All processes call the same functions in the same order.
template <class Scalar>
class team {
 public:
  using worker = train_worker<Scalar>;

  virtual ~team() = default;

  // Runs one step of all.
  virtual void run(step_plan const& plan) = 0;
  // Tells all what some know. An unknown byte is zero; a known one is the same on all that know it.
  virtual void unite(std::span<std::byte> bytes) = 0;
  // act() takes this process a while, in which others wait for it.
  virtual void work(std::function<void()> const& act) = 0;
  // Times of the last step, by instruction of the whole program, rank after rank; zeros for those of
  // other processes. Empty where they are not measured.
  virtual std::vector<ashlar::instruction_time> times() const = 0;

  // Tells, between two steps, that the training's program is another one, of the same groups on the same
  // devices.
  virtual void adopt() = 0;
  // The layout of a value where the training computes.
  virtual ashlar::value_layout layout(ashlar::value_key key) const {
    return workers().front()->layout(key);
  }
  // Devices of a node of the interconnect.
  virtual int node_size() const { return 0; }
  // Nanoseconds of messages between two devices, and of sums over all, one for each repeat. Empty where
  // there are no such devices.
  virtual std::vector<double> time_transfers(link_class, probe) { return {}; }
  virtual std::vector<double> time_sums(probe) { return {}; }

  // Bring workers' values here, and back, where they are kept elsewhere while training runs.
  virtual void fetch() {}
  virtual void deliver() {}
  // Sets the tokens of the next step, for a rank that is here.
  virtual void set_batch(int rank, gpt::batch tokens) { of(rank)->set_batch(std::move(tokens)); }
  // After a step, these return what is known here, elsewhere zeros: a rank's losses by micro-batch, ...
  virtual std::vector<double> losses(int rank) const {
    if (of(rank) == nullptr) return std::vector<double>(micro_batches_, 0.0);
    std::span<double const> const all = of(rank)->losses();
    return {all.begin(), all.end()};
  }
  // ... how many tokens each expert got, of all ranks here, by rank, micro-batch, block and expert, ...
  std::vector<double> expert_loads() const {
    std::vector<double> all;
    for (std::unique_ptr<worker> const& w : workers_) {
      std::span<double const> const own = w ? w->expert_loads() : std::span<double const>();
      if (w)
        all.insert(all.end(), own.begin(), own.end());
      else
        all.resize(all.size() + workers().front()->expert_loads().size(), 0.0);
    }
    return all;
  }
  // ... the losses of prediction layers, by rank and micro-batch, ...
  std::vector<double> prediction_losses() const {
    std::vector<double> all;
    for (std::unique_ptr<worker> const& w : workers_) {
      std::span<double const> const own = w ? w->prediction_losses() : std::span<double const>();
      all.insert(all.end(), own.begin(), own.end());
      all.resize(static_cast<std::size_t>(&w - workers_.data() + 1) * micro_batches_, 0.0);
    }
    return all;
  }
  // ... and the squares of the gradient.
  virtual gpt::exact_sum squares() const {
    gpt::exact_sum sum;
    for (int rank = 0; rank < gpt::counted_ranks(*workers().front()); ++rank)
      for (int g = 0; g < program_->groups.count(); ++g)
        if (is_here(rank, program_->groups.holders(g)[0])) sum.add(of(rank)->squares(g));
    return sum;
  }
  // Updates behind a step, with its gradient times `scale`; counts it where the program has done it.
  virtual void update(gpt::adam_options const& options, double scale) {
    for_each_held([&](worker& w, int group) {
      if (program_->step == ashlar::optimizer_step::none)
        w.update(group, options, scale);
      else
        w.set_updates(group, w.updates(group) + 1);
    });
  }
  // The relative difference to the host's numbers that is allowed, by the largest; 0: not a bit.
  virtual double tolerance() const { return 0; }
  virtual processors computing() const {
    return {static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))};
  }

  // Process 0 prints.
  int process() const { return process_; }
  int processes() const { return processes_; }
  bool leads() const { return process_ == 0; }

  bool is_here(int rank, int device) const {
    int const number = rank * program_->device_count() + device;
    return number >= first_ && number < first_ + count_;
  }
  // The worker of a rank; null where the rank has no device here.
  worker* of(int rank) const { return workers_[static_cast<std::size_t>(rank)].get(); }
  void set_optimizer(gpt::adam_options const& options) {
    for (worker* w : workers()) w->set_optimizer(options);
  }
  void set_loss_scale(double scale) {
    for (worker* w : workers()) w->set_loss_scale(scale);
  }
  // The workers that are here, by rank.
  std::vector<worker*> workers() const {
    std::vector<worker*> all;
    for (auto const& w : workers_)
      if (w) all.push_back(w.get());
    return all;
  }
  // Calls act(worker, group), once for each group of each worker that a device here holds.
  template <class Act>
  void for_each_held(Act act) const {
    for (int rank = 0; rank < program_->data_ranks; ++rank)
      for (int g = 0; g < program_->groups.count(); ++g)
        for (int const device : program_->groups.holders(g))
          if (is_here(rank, device)) {
            act(*of(rank), g);
            break;
          }
  }

  template <class T>
  void unite(std::vector<T>& values) {
    unite(std::as_writable_bytes(std::span(values)));
  }
  // Gathers a text of each process.
  std::vector<std::string> gather_texts(std::string const& mine) {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(processes_), 0);
    sizes[static_cast<std::size_t>(process_)] = mine.size();
    unite(sizes);
    std::size_t before = 0, total = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (i < static_cast<std::size_t>(process_)) before += sizes[i];
      total += sizes[i];
    }
    std::vector<char> text(total, 0);
    mine.copy(text.data() + before, mine.size());
    unite(text);
    std::vector<std::string> all;
    auto at = text.begin();
    for (std::uint64_t const size : sizes) {
      all.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
      at += static_cast<std::ptrdiff_t>(size);
    }
    return all;
  }

 protected:
  // This process, `process` of `processes`, has `count` devices from number `first` on.
  team(training const& t, int first, int count, int process, int processes)
      : program_(&t.program),
        micro_batches_(static_cast<std::size_t>(t.shape.micro_batches)),
        first_(first),
        count_(count),
        process_(process),
        processes_(processes),
        workers_(static_cast<std::size_t>(t.program.data_ranks)) {
    int const devices = t.program.device_count();
    for (int rank = first / devices; rank * devices < first + count; ++rank) {
      auto const here = [&](int device) { return is_here(rank, device); };
      std::vector<int> first_here;
      for (int g = 0; g < t.program.groups.count(); ++g) {
        auto const holders = t.program.groups.holders(g);
        first_here.push_back(
            static_cast<int>(std::find_if(holders.begin(), holders.end(), here) - holders.begin()));
      }
      workers_[static_cast<std::size_t>(rank)] =
          std::make_unique<worker>(t.shape, t.options->seed, gpt::site_in(t.program, rank, here),
                                   t.values(), std::move(first_here));
    }
  }

 private:
  ashlar::program const* program_;
  std::size_t micro_batches_;
  int first_, count_, process_, processes_;
  std::vector<std::unique_ptr<worker>> workers_;  // by rank
};

}  // namespace tool
