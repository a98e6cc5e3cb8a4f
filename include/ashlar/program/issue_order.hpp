// One order of all instructions of a program that keeps every lane's order and every wait: the one in
// which the machine of the deadlock proof reaches the end.
#pragma once

#include <ashlar/program/hazards.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace ashlar {

namespace program_detail {

// Instructions that take part in the same thing: a send and its receive, the holders of a group.
struct meeting_list {
  std::vector<int> of;                    // by instruction of the program; -1: alone
  std::vector<std::vector<int>> members;  // a send before its receive, else by device
};

constexpr meeting_list meetings_of(program_view const& p) {
  auto const n = static_cast<std::size_t>(p.device_count);
  meeting_list all{std::vector<int>(p.instructions.size(), -1), {}};
  std::vector<std::vector<int>> open(n * n);  // transfers whose other half has not been seen
  std::vector<std::size_t> taken(n * n, 0);
  std::vector<int> reduction(static_cast<std::size_t>(p.groups.count()) + 1, -1);
  auto const join = [&](int meeting, std::size_t i) {
    if (meeting < 0) {
      meeting = static_cast<int>(all.members.size());
      all.members.emplace_back();
    }
    all.of[i] = meeting;
    auto& list = all.members[static_cast<std::size_t>(meeting)];
    list.push_back(static_cast<int>(i));
    if (list.size() == 2 && p.instructions[i].code == opcode::send) std::swap(list[0], list[1]);
    return meeting;
  };
  for (std::size_t device = 0; device < n; ++device)
    for (auto i = static_cast<std::size_t>(p.stream_begin[device]);
         i < static_cast<std::size_t>(p.stream_begin[device + 1]); ++i) {
      instruction const& self = p.instructions[i];
      if (self.code == opcode::send || self.code == opcode::receive) {
        auto const peer = static_cast<std::size_t>(self.peer);
        std::size_t const link = self.code == opcode::send ? device * n + peer : peer * n + device;
        bool const second = peer < device;
        if (second && taken[link] < open[link].size())
          join(open[link][taken[link]++], i);
        else
          open[link].push_back(join(-1, i));
      } else if (self.code == opcode::all_reduce) {
        int& meeting = reduction[static_cast<std::size_t>(self.group)];
        meeting = join(meeting, i);
      }
    }
  return all;
}

}  // namespace program_detail

// Indices into p.instructions. Matching sends and receives are adjacent, the send first, and so are the
// members of a collective between devices. Whoever issues in this order can do so from one thread, and
// capture what is issued. Throws violation, rule::no_cycle_of_waits, with an instruction that never runs
// if the program is not free of deadlock. Of transfers between two devices the k-th send and the k-th
// receive match. Linear in instructions, waits and lanes.
constexpr std::vector<int> issue_order(program_view const& p) {
  auto const lanes = static_cast<std::size_t>(p.lane_count);
  auto const n = static_cast<std::size_t>(p.device_count);
  program_detail::meeting_list const meetings = program_detail::meetings_of(p);
  std::vector<wait_table> hazards;
  std::vector<int> device_of(p.instructions.size(), 0), next(p.instructions.size(), -1),
      head(n * lanes, -1);
  for (std::size_t d = 0; d < n; ++d) {
    hazards.push_back(waits(p, static_cast<int>(d)));
    for (int i = p.stream_begin[d + 1]; i-- > p.stream_begin[d];) {
      auto const at = static_cast<std::size_t>(i);
      device_of[at] = static_cast<int>(d);
      next[at] = std::exchange(head[d * lanes + static_cast<std::size_t>(p.instructions[at].lane)], i);
    }
  }
  std::vector<int> order, awake;
  std::vector<char> issued(p.instructions.size(), 0), arrived(p.instructions.size(), 0);
  std::vector<std::size_t> here(meetings.members.size(), 0);
  order.reserve(p.instructions.size());

  auto const met = [&](int device, int index) {
    int const base = p.stream_begin[static_cast<std::size_t>(device)];
    for (int other : hazards[static_cast<std::size_t>(device)].of(index - base))
      if (issued[static_cast<std::size_t>(base + other)] == 0) return false;
    return true;
  };
  auto const issue = [&](int i) {
    auto const at = static_cast<std::size_t>(i);
    int const device = device_of[at];
    order.push_back(i);
    issued[at] = 1;
    head[static_cast<std::size_t>(device) * lanes + static_cast<std::size_t>(p.instructions[at].lane)] =
        next[at];
    awake.push_back(device);
  };
  for (int d = p.device_count; d-- > 0;) awake.push_back(d);
  while (!awake.empty()) {
    int const device = awake.back();
    awake.pop_back();
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      int const i = head[static_cast<std::size_t>(device) * lanes + lane];
      if (i < 0 || arrived[static_cast<std::size_t>(i)] != 0 || !met(device, i)) continue;
      auto const at = static_cast<std::size_t>(i);
      if (p.instructions[at].overlaps_next && !met(device, i + 1)) continue;
      arrived[at] = 1;
      int const meeting = meetings.of[at];
      if (meeting < 0) {
        issue(i);
        if (p.instructions[at].overlaps_next) {
          arrived[at + 1] = 1;
          issue(i + 1);
        }
        continue;
      }
      auto const& members = meetings.members[static_cast<std::size_t>(meeting)];
      bool const moves =
          p.instructions[at].code == opcode::send || p.instructions[at].code == opcode::receive;
      if (++here[static_cast<std::size_t>(meeting)] == (moves ? 2 : members.size()))
        for (int member : members) issue(member);
    }
  }
  for (std::size_t i = 0; i < issued.size(); ++i)
    if (issued[i] == 0) {
      int const device = device_of[i], base = p.stream_begin[static_cast<std::size_t>(device)];
      throw violation{{.broken = rule::no_cycle_of_waits,
                       .first = site_of(p.instructions[i], device, static_cast<int>(i) - base)}};
    }
  return order;
}

}  // namespace ashlar
