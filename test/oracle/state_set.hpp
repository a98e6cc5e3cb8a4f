// The distinct states that were reached. All states of a machine have the same size, so each is a row of
// words in one array, and a table of row numbers finds them. An exploration spends most of its time
// here.
#pragma once

#include "oracle/state.hpp"

#include <algorithm>
#include <stdexcept>

namespace oracle {

class state_set {
 public:
  // Takes states of the size of this one.
  explicit state_set(state const& any)
      : queues_(any.at.size()), slots_(any.slots.size()), width_((3 * queues_ + 7) / 8 + slots_) {}

  std::size_t size() const { return count_; }

  // Adds the state behind the others, unless it is there already.
  bool insert(state const& s) {
    if (2 * (count_ + 1) > table_.size()) grow();
    rows_.resize((count_ + 1) * width_);
    std::uint64_t* const row = rows_.data() + count_ * width_;
    pack(s, row);
    std::size_t at = hash(row) & (table_.size() - 1);
    for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
      if (std::equal(row, row + width_, rows_.data() + (table_[at] - 1) * width_)) return false;
    table_[at] = static_cast<std::uint32_t>(++count_);
    return true;
  }

  // The state that was the number-th to be added.
  void get(std::size_t number, state& s) const {
    std::uint64_t const* row = rows_.data() + number * width_;
    auto const byte = [row](std::size_t i) {
      return static_cast<std::uint8_t>(row[i / 8] >> (i % 8 * 8) & 0xffU);
    };
    for (std::size_t q = 0; q < queues_; ++q) {
      s.at[q] = byte(q);
      s.ahead[q] = static_cast<std::uint16_t>(byte(queues_ + 2 * q) | byte(queues_ + 2 * q + 1) << 8);
    }
    row += width_ - slots_;
    for (std::size_t i = 0; i < slots_; ++i) s.slots[i] = unpacked(row[i]);
  }

 private:
  void pack(state const& s, std::uint64_t* row) const {
    std::fill(row, row + width_, 0);
    auto const put = [row](std::size_t i, unsigned value) {
      row[i / 8] |= static_cast<std::uint64_t>(value) << (i % 8 * 8);
    };
    for (std::size_t q = 0; q < queues_; ++q) {
      put(q, s.at[q]);
      put(queues_ + 2 * q, s.ahead[q] & 0xffU);
      put(queues_ + 2 * q + 1, static_cast<unsigned>(s.ahead[q]) >> 8);
    }
    row += width_ - slots_;
    for (std::size_t i = 0; i < slots_; ++i) row[i] = packed(s.slots[i]);
  }

  static std::uint64_t packed(content const& c) {
    return static_cast<std::uint64_t>(c.value.kind) << 56 | number(c.value.stage) << 48
           | number(c.value.micro_batch) << 40 | number(c.value.to) << 32 | c.bits;
  }
  static content unpacked(std::uint64_t word) {
    auto const at = [word](unsigned shift) { return static_cast<int>(word >> shift & 0xffU); };
    return {{static_cast<slot_kind>(at(56)), at(48) - 1, at(40) - 1, at(32) - 1},
            static_cast<unsigned>(word)};
  }
  static std::uint64_t number(int n) {
    if (n < -1 || n > 254) throw std::out_of_range("the oracle is for small programs");
    return static_cast<std::uint64_t>(n + 1);
  }

  std::uint64_t hash(std::uint64_t const* row) const {
    std::uint64_t h = 0x9e3779b97f4a7c15U;
    for (std::size_t i = 0; i < width_; ++i) h = (h ^ row[i]) * 0xff51afd7ed558ccdU, h ^= h >> 29;
    return h;
  }

  void grow() {
    table_.assign(std::max<std::size_t>(64, 2 * table_.size()), 0);
    for (std::size_t n = 0; n < count_; ++n) {
      std::size_t at = hash(rows_.data() + n * width_) & (table_.size() - 1);
      while (table_[at] != 0) at = (at + 1) & (table_.size() - 1);
      table_[at] = static_cast<std::uint32_t>(n + 1);
    }
  }

  std::size_t queues_, slots_, width_, count_ = 0;
  std::vector<std::uint64_t> rows_;   // state by state; one more than are there while one is looked up
  std::vector<std::uint32_t> table_;  // 1 + the number of a state, 0 where there is none
};

}  // namespace oracle
