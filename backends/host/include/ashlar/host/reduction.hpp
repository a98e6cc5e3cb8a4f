// The sum of one stage's gradients over its replicas.
#pragma once

#include <ashlar/host/gate.hpp>
#include <ashlar/run/interpreter.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace ashlar::host {

// Rank 0 adds the others to its own in order of rank, so that the bits do not depend on who comes first;
// then all copy.
class reduction {
 public:
  explicit reduction(std::size_t members) : memory_(members), here_(members) {}

  void reset() {
    for (gate& g : here_) g.reset();
    summed_.reset();
    copied_.reset();
  }
  void stop() {
    for (gate& g : here_) g.stop();
    summed_.stop();
    copied_.stop();
  }

  // Called once a step by each member; add(into, from) sums. Returns when `mine` holds the sum and
  // nobody needs it more. Throws std::invalid_argument for a rank that no member has.
  template <class Add>
  void run(std::size_t rank, buffer mine, Add add) {
    if (rank >= memory_.size()) throw std::invalid_argument("a reduction without its other replicas");
    if (rank != 0) {
      memory_[rank] = mine;
      here_[rank].advance();
      summed_.await(1);
      if (!mine.empty()) std::memcpy(mine.data(), memory_[0].data(), mine.size());
      copied_.advance();
      return;
    }
    memory_[0] = mine;
    for (std::size_t other = 1; other < memory_.size(); ++other) {
      here_[other].await(1);
      add(mine, memory_[other]);
    }
    summed_.advance();
    copied_.await(static_cast<std::uint32_t>(memory_.size()) - 1);
  }

 private:
  std::vector<buffer> memory_;
  std::vector<gate> here_;
  gate summed_, copied_;
};

}  // namespace ashlar::host
