// How processes add up their values: in the order of members (run/contributions.hpp), or in the
// library's own order. Then all members get the whole sum, even for a reduce-scatter, which adds its
// part to the shard.
#pragma once

#include <ashlar/mpi/error.hpp>
#include <ashlar/run/contributions.hpp>
#include <ashlar/run/device_plan.hpp>
#include <ashlar/run/frame.hpp>
#include <ashlar/run/host_memory.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace ashlar::mpi {

// Adds up the parts that have come to a member, in the order of the members.
inline void add_up(device_plan::step const& s, contributions const& all) {
  collective_call const& c = s.collective();
  if (s.what.code == opcode::reduce_scatter) {
    for (int m = 0; m < c.group.size; ++m) add_elements(c.shard, all.of(c, m), c.element);
    return;
  }
  buffer const total = all.of(c, 0), mine = part_of(c, c.group.member);
  for (int m = 1; m < c.group.size; ++m) add_elements(total, all.of(c, m), c.element);
  if (c.group.member != 0 && !mine.empty()) std::memcpy(mine.data(), total.data(), mine.size());
}

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
    add_elements(s.collective().shard, part_of(s.collective(), s.collective().group.member),
                 s.collective().element);
}

}  // namespace ashlar::mpi
