// What an instruction waits for on its own device: derived from slots, never written by hand.
#pragma once

#include <ashlar/program.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace ashlar {

// For each instruction of a stream the earlier instructions of other lanes that it has to wait for:
// those that made what it reads, and those that still use what it overwrites. (Its own lane runs in
// order anyway.) At most one, the last, a lane. The engine waits for exactly these, and the proofs
// reason about exactly these.
class wait_table {
 public:
  constexpr std::span<int const> of(int index) const {
    auto const i = static_cast<std::size_t>(index);
    return std::span<int const>(on_).subspan(static_cast<std::size_t>(begin_[i]),
                                             static_cast<std::size_t>(begin_[i + 1] - begin_[i]));
  }

 private:
  friend constexpr wait_table waits(program_view const& p, int device);

  std::vector<int> begin_ = {0};
  std::vector<int> on_;
};

// Linear in the operands times the lanes that share a slot (two or three).
constexpr wait_table waits(program_view const& p, int device) {
  // The uses of a slot since its last write, the write first.
  struct use_list {
    int writer = -1;
    std::vector<int> readers;
  };
  std::span<instruction const> const stream = p.stream(device);
  std::vector<use_list> uses(p.slots_of(device).size());
  wait_table table;
  std::size_t first = 0;  // of this instruction's waits

  auto const wait_for = [&](int index, int lane) {
    if (index < 0) return;
    int const other = stream[static_cast<std::size_t>(index)].lane;
    if (other == lane) return;
    for (std::size_t i = first; i < table.on_.size(); ++i)
      if (stream[static_cast<std::size_t>(table.on_[i])].lane == other) {
        if (table.on_[i] < index) table.on_[i] = index;
        return;
      }
    table.on_.push_back(index);
  };

  for (std::size_t i = 0; i < stream.size(); ++i) {
    int const self = static_cast<int>(i), lane = stream[i].lane;
    for (operand const& o : p.operands_of(stream[i])) {
      use_list& slot = uses[static_cast<std::size_t>(o.slot)];
      wait_for(slot.writer, lane);
      if (o.how != access::read)
        for (int reader : slot.readers) wait_for(reader, lane);
    }
    for (operand const& o : p.operands_of(stream[i])) {
      use_list& slot = uses[static_cast<std::size_t>(o.slot)];
      if (o.how == access::read) {
        slot.readers.push_back(self);
      } else {
        slot.writer = self;
        slot.readers.clear();
      }
    }
    first = table.on_.size();
    table.begin_.push_back(static_cast<int>(first));
  }
  return table;
}

}  // namespace ashlar
