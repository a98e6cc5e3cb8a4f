// Who trains together: the workers of this process, and those of others.
#pragma once

#include "training.hpp"
#include <ashlar/program/program.hpp>
#include <ashlar/run/instruction_time.hpp>

#include <gpt/worker.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tool {

// What differs from backend to backend. A process has a run of devices, numbered rank after rank, and a
// worker for each data-parallel rank that has one of them. All processes call the same functions in the
// same order.
template <class Scalar>
class team {
 public:
  using worker = gpt::worker<Scalar>;

  virtual ~team() = default;

  // One step of all.
  virtual void run() = 0;
  // Tells all what some know. A byte is zero where it is not known, else the same wherever it is.
  virtual void unite(std::span<std::byte> bytes) = 0;
  // act() takes this process a while, in which others wait for it.
  virtual void work(std::function<void()> const& act) = 0;
  // Of the last step, by instruction of the whole program, rank after rank; zeros for those of other
  // processes.
  virtual std::vector<ashlar::instruction_time> times() const = 0;

  // Process 0 prints.
  int process() const { return process_; }
  int processes() const { return processes_; }
  bool leads() const { return process_ == 0; }

  bool is_here(int rank, int device) const {
    int const number = rank * program_->device_count() + device;
    return number >= first_ && number < first_ + count_;
  }
  // Null where the rank has no device here.
  worker* of(int rank) const { return workers_[static_cast<std::size_t>(rank)].get(); }
  // By rank: those that are here.
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
  // What each process says, by process.
  std::vector<std::string> tell_all(std::string const& mine) {
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
  // `count` devices from number `first` on are here; process `process` of `processes`.
  team(training const& t, int first, int count, int process, int processes)
      : program_(&t.program),
        first_(first),
        count_(count),
        process_(process),
        processes_(processes),
        workers_(static_cast<std::size_t>(t.program.data_ranks)) {
    int const devices = t.program.device_count();
    for (int rank = first / devices; rank * devices < first + count; ++rank)
      workers_[static_cast<std::size_t>(rank)] = std::make_unique<worker>(
          t.shape, t.options->seed,
          gpt::site_in(t.program, rank, [&](int device) { return is_here(rank, device); }));
  }

 private:
  ashlar::program const* program_;
  int first_, count_, process_, processes_;
  std::vector<std::unique_ptr<worker>> workers_;  // by rank
};

}  // namespace tool
