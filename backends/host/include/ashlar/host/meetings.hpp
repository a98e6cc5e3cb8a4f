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
        groups_(p.groups),
        reductions_(static_cast<std::size_t>(p.groups.count()) * ranks_),
        tally_(ranks_ * devices_) {
    for (instruction const& i : p.instructions) {
      if (i.code != opcode::all_reduce || i.subject == slot_kind::scalar) continue;
      std::size_t const n = groups_.holders(i.group).size();
      bool const whole = i.subject == slot_kind::weight_gradient;
      for (std::size_t rank = 0; rank < (whole ? 1 : ranks_); ++rank)
        if (auto& r = of(i.group, rank); !r) r = std::make_unique<reduction>(whole ? n * ranks_ : n);
    }
    for (std::size_t d = 0; d < devices_ && sharded_; ++d)
      exchanges_.push_back(std::make_unique<exchange>(ranks_));
  }

  // Sums over the holders of a group: of their whole gradients on all ranks, holder by holder, or of
  // this rank's shards.
  template <class Add>
  void reduce(int rank, int device, instruction const& i, buffer mine, Add add) {
    auto const r = static_cast<std::size_t>(rank),
               member = static_cast<std::size_t>(groups_.member_of(i.group, device));
    if (i.subject == slot_kind::gradient_shard)
      of(i.group, r)->run(member, mine, add);
    else
      of(i.group, 0)->run(member * ranks_ + r, mine, add);
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

  std::unique_ptr<reduction>& of(int group, std::size_t rank) {
    return reductions_[static_cast<std::size_t>(group) * ranks_ + rank];
  }

  std::size_t ranks_, devices_;
  bool sharded_;
  group_view groups_;
  std::vector<std::unique_ptr<reduction>> reductions_;  // by group and, of shards, rank
  std::vector<std::unique_ptr<exchange>> exchanges_;    // by device, if sharded
  tally tally_;
};

}  // namespace ashlar::host
