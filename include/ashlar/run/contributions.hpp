// Divides the work of a sum between the members of a group.
//
// Sums are in the order of members, as in a sequential run. Every member gets its part of the sum
// (shard_of) from all others and adds up the contributions. For an all-reduce, it then sends its part to
// all. These are two exchanges, each of which moves the value once. A bandwidth-optimal all-reduce moves
// as much.
#pragma once

#include <ashlar/run/able.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/frame.hpp>

#include <cstddef>

namespace ashlar {

// Whether the instruction is a sum over the members of a group.
inline bool sums(instruction const& i) {
  return i.code == opcode::all_reduce || i.code == opcode::reduce_scatter;
}

// The part of a gathered or summed value that a member has in the end.
inline buffer part_of(collective_call const& c, int member) {
  byte_range const part = shard_of(c.whole.size(), member, c.group.size, c.element);
  return c.whole.subspan(part.begin, part.size);
}

// Buffers for the contributions of others to this member's part of a sum. Only one collective runs at a
// time, so room for the largest is enough.
class contributions {
 public:
  // Bytes of scratch memory that a device needs.
  static std::size_t bytes(device_plan const& plan) {
    std::size_t most = 0;
    for (int i = 0; i < plan.size(); ++i) {
      if (!run_detail::meets_others(plan.at(i).what) || !sums(plan.at(i).what)) continue;
      collective_call const& c = plan.at(i).collective();
      if (std::size_t const here = static_cast<std::size_t>(c.group.size) * stride(c); here > most)
        most = here;
    }
    return most;
  }

  // `scratch` has bytes() bytes, in the memory where the device computes.
  explicit contributions(std::byte* scratch) : scratch_(scratch) {}

  // A member's contribution to part_of(c, c.group.member).
  buffer of(collective_call const& c, int member) const {
    if (member == c.group.member) return part_of(c, member);
    return {scratch_ + static_cast<std::size_t>(member) * stride(c), part_of(c, c.group.member).size()};
  }

 private:
  static std::size_t stride(collective_call const& c) {
    return (part_of(c, c.group.member).size() + 63) / 64 * 64;
  }

  std::byte* scratch_;
};

}  // namespace ashlar
