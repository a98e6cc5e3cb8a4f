// The members of a collective.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/device_plan.hpp>

#include <vector>

namespace ashlar {

// The number of a device of a data-parallel rank, among the devices of all ranks.
constexpr int number_of(program_view const& p, int rank, int device) {
  return rank * p.device_count + device;
}

// The devices that sum together, in the order of their members: the holders of a group, or of a job's
// parts. Requires a group or a job of the program.
inline std::vector<int> devices_of(program_view const& p, int group) {
  std::vector<int> all;
  if (int const job = group - group_of_job(p, 0); job >= 0)
    for (int k = 0; k < p.work.part_count(job); ++k) all.push_back(p.work.part({job, k}).device);
  else
    for (int d : p.groups.holders(group)) all.push_back(d);
  return all;
}

// The numbers of a group's members, in their order. Requires a group of the program, and a rank of it.
inline std::vector<int> members_of(program_view const& p, collective_group const& g, int rank) {
  std::vector<int> all;
  if (g.scope == group_scope::ranks)
    for (int r = 0; r < p.data_ranks; ++r) all.push_back(number_of(p, r, g.of));
  else if (g.scope == group_scope::holders_of_a_rank)
    for (int d : devices_of(p, g.of)) all.push_back(number_of(p, rank, d));
  else if (g.of == p.groups.everyone())
    for (int r = 0; r < p.data_ranks; ++r)
      for (int d : devices_of(p, g.of)) all.push_back(number_of(p, r, d));
  else
    for (int d : devices_of(p, g.of))
      for (int r = 0; r < p.data_ranks; ++r) all.push_back(number_of(p, r, d));
  return all;
}

}  // namespace ashlar
