// Gathers and scatters between the data-parallel ranks' copies of one device.
#pragma once

#include <ashlar/host/gate.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/run/interpreter.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace ashlar::host {

// All ranks run the same stream, so that the n-th call of one meets the n-th of the others. Each rank
// calls from one thread, its collective lane.
class exchange {
 public:
  explicit exchange(std::size_t ranks) : shown_(ranks), met_(ranks, 0), here_(ranks), through_(ranks) {}

  void reset() {
    for (gate& g : here_) g.reset();
    for (gate& g : through_) g.reset();
    for (std::uint32_t& n : met_) n = 0;
  }
  void stop() {
    for (gate& g : here_) g.stop();
    for (gate& g : through_) g.stop();
  }

  // Puts the shards of all ranks together. Throws std::length_error when one has another size.
  void gather(int rank, buffer shard, buffer whole) {
    show(rank, shard);
    for (std::size_t other = 0; other < shown_.size(); ++other) {
      byte_range const part = part_of(whole, other);
      if (shown_[other].size() != part.size)
        throw std::length_error("a shard of the weights has another size than its place");
      if (part.size > 0) std::memcpy(whole.data() + part.begin, shown_[other].data(), part.size);
    }
    leave(rank);
  }

  // Adds this rank's part of every rank's buffer to its shard, in the order of the ranks, so that the
  // bits do not depend on who comes first. add(into, from) sums.
  template <class Add>
  void scatter(int rank, buffer whole, buffer shard, Add add) {
    show(rank, whole);
    byte_range const part = part_of(whole, static_cast<std::size_t>(rank));
    if (part.size > 0)
      for (buffer const from : shown_) add(shard, from.subspan(part.begin, part.size));
    leave(rank);
  }

 private:
  byte_range part_of(buffer whole, std::size_t rank) const {
    return shard_of(whole.size(), static_cast<int>(rank), static_cast<int>(shown_.size()));
  }
  // Returns when all have shown theirs.
  void show(int rank, buffer mine) {
    auto const r = static_cast<std::size_t>(rank);
    shown_[r] = mine;
    ++met_[r];
    here_[r].advance();
    for (gate& g : here_) g.await(met_[r]);
  }
  // Returns when nobody looks at what was shown any more.
  void leave(int rank) {
    auto const r = static_cast<std::size_t>(rank);
    through_[r].advance();
    for (gate& g : through_) g.await(met_[r]);
  }

  std::vector<buffer> shown_;
  std::vector<std::uint32_t> met_;  // by rank, each rank's own
  std::vector<gate> here_, through_;
};

}  // namespace ashlar::host
