// How the members of a group add up their values.
//
// In the order of members, as a sequential run adds: every member gets the part of the sum that it will
// have (shard_of) from all others and adds up what came. For an all-reduce it then hands its part to
// all. Two exchanges, each of which moves the value once: what a bandwidth-optimal all-reduce moves.
//
// As the library likes: all members get all of the sum, also for a reduce-scatter, which then adds its
// part to the shard.
#pragma once

#include <ashlar/mpi/error.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/host_memory.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace ashlar::mpi {

inline bool sums(instruction const& i) {
  return i.code == opcode::all_reduce || i.code == opcode::reduce_scatter;
}

// What a member has in the end of a value that is gathered or summed.
inline buffer part_of(collective_call const& c, int member) {
  byte_range const part = shard_of(c.whole.size(), member, c.group.size);
  return c.whole.subspan(part.begin, part.size);
}

// Memory for what others send of this member's part of a sum. One collective is under way at a time, so
// the largest is enough.
class contributions {
 public:
  explicit contributions(device_plan const& plan) : scratch_(largest(plan)) {}

  // A member's part of what becomes part_of(c, c.group.member).
  buffer of(collective_call const& c, int member) const {
    if (member == c.group.member) return part_of(c, member);
    return scratch_.view().subspan(static_cast<std::size_t>(member) * stride(c),
                                   part_of(c, c.group.member).size());
  }

  // Once all are there.
  void add_up(device_plan::step const& s) const {
    collective_call const& c = s.collective;
    if (s.what.code == opcode::reduce_scatter) {
      for (int m = 0; m < c.group.size; ++m) add_elements(c.shard, of(c, m), c.element);
      return;
    }
    buffer const total = of(c, 0), mine = part_of(c, c.group.member);
    for (int m = 1; m < c.group.size; ++m) add_elements(total, of(c, m), c.element);
    if (c.group.member != 0 && !mine.empty()) std::memcpy(mine.data(), total.data(), mine.size());
  }

 private:
  static std::size_t stride(collective_call const& c) {
    return (part_of(c, c.group.member).size() + 63) / 64 * 64;
  }
  static std::size_t largest(device_plan const& plan) {
    std::size_t most = 0;
    for (int i = 0; i < plan.size(); ++i) {
      collective_call const& c = plan.at(i).collective;
      if (run_detail::meets_others(plan.at(i).what) && sums(plan.at(i).what))
        most = std::max(most, static_cast<std::size_t>(c.group.size) * stride(c));
    }
    return most;
  }

  aligned_memory scratch_;
};

inline std::size_t element_size(collective_call const& c) {
  return c.element == element_type::f32 ? sizeof(float) : sizeof(double);
}

// Throws std::length_error: MPI counts elements in int.
inline void check_library_sum(collective_call const& c) {
  if (c.whole.size() / element_size(c) > std::numeric_limits<int>::max())
    throw std::length_error("the library's own sums are of at most 2^31 - 1 elements");
}

inline MPI_Request start_library_sum(collective_call const& c, MPI_Comm group) {
  MPI_Request r = MPI_REQUEST_NULL;
  require(MPI_Iallreduce(MPI_IN_PLACE, c.whole.data(),
                         static_cast<int>(c.whole.size() / element_size(c)),
                         c.element == element_type::f32 ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, group, &r));
  return r;
}

inline void take_library_sum(device_plan::step const& s) {
  if (s.what.code == opcode::reduce_scatter)
    add_elements(s.collective.shard, part_of(s.collective, s.collective.group.member),
                 s.collective.element);
}

}  // namespace ashlar::mpi
