// Where the devices of all data-parallel ranks meet: for reductions, gathers, scatters and statistics.
#pragma once

#include <ashlar/host/exchange.hpp>
#include <ashlar/host/reduction.hpp>
#include <ashlar/program/program.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::host {

// The sum of one number a device and rank, in the order of rank, then device. Once a step.
class tally {
 public:
  explicit tally(std::size_t members) : numbers_(members, 0.0) {}

  void reset() { here_.reset(); }
  void stop() { here_.stop(); }

  double sum(std::size_t member, double mine) {
    numbers_[member] = mine;
    here_.advance();
    here_.await(static_cast<std::uint32_t>(numbers_.size()));
    double total = 0;
    for (double n : numbers_) total += n;
    return total;
  }

 private:
  std::vector<double> numbers_;
  gate here_;
};

class meetings {
 public:
  explicit meetings(program_view const& p)
      : ranks_(static_cast<std::size_t>(p.data_ranks)),
        devices_(static_cast<std::size_t>(p.device_count)),
        sharded_(p.sharding != sharding_level::none),
        reductions_(static_cast<std::size_t>(p.stage_count) * (sharded_ ? ranks_ : 1)),
        tally_(ranks_ * devices_) {
    std::vector<std::size_t> replicas(static_cast<std::size_t>(p.stage_count), 0);
    for (instruction const& i : p.instructions)
      if (i.code == opcode::all_reduce && i.what.stage >= 0 && i.what.stage < p.stage_count)
        ++replicas[static_cast<std::size_t>(i.what.stage)];
    for (std::size_t at = 0; at < reductions_.size(); ++at)
      if (std::size_t const n = replicas[at / (sharded_ ? ranks_ : 1)]; n > 0)
        reductions_[at] = std::make_unique<reduction>(sharded_ ? n : n * ranks_);
    for (std::size_t d = 0; d < devices_ && sharded_; ++d)
      exchanges_.push_back(std::make_unique<exchange>(ranks_));
  }

  // Sums over the replicas of a stage: of their whole gradients on all ranks, replica by replica, or of
  // this rank's shards.
  template <class Add>
  void reduce(int rank, instruction const& i, buffer mine, Add add) {
    auto const r = static_cast<std::size_t>(rank), stage = static_cast<std::size_t>(i.what.stage),
               replica = static_cast<std::size_t>(i.peer);
    if (sharded_)
      reductions_[stage * ranks_ + r]->run(replica, mine, add);
    else
      reductions_[stage]->run(replica * ranks_ + r, mine, add);
  }
  // Between the ranks' copies of a device. Of a sharded program.
  exchange& between_ranks(int device) { return *exchanges_[static_cast<std::size_t>(device)]; }

  // Whole gradients are the same on all ranks: those of the first count.
  double statistics(int rank, int device, double mine) {
    bool const counts = sharded_ || rank == 0;
    return tally_.sum(static_cast<std::size_t>(rank) * devices_ + static_cast<std::size_t>(device),
                      counts ? mine : 0.0);
  }

  void reset() {
    each([](auto& part) { part.reset(); });
  }
  void stop() {
    each([](auto& part) { part.stop(); });
  }

 private:
  template <class Act>
  void each(Act act) {
    for (auto& r : reductions_)
      if (r) act(*r);
    for (auto& e : exchanges_) act(*e);
    act(tally_);
  }

  std::size_t ranks_, devices_;
  bool sharded_;
  std::vector<std::unique_ptr<reduction>> reductions_;  // by stage and, if sharded, rank
  std::vector<std::unique_ptr<exchange>> exchanges_;    // by device, if sharded
  tally tally_;
};

}  // namespace ashlar::host
