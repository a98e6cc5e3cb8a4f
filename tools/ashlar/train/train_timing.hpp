// The times of passes on the devices of all processes.
#pragma once

#include "train/train_team.hpp"
#include <ashlar/program/program.hpp>
#include <ashlar/run/pass_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tool {

// Adds the step of `program` that `all` has just run. Each process keeps the times of its own devices.
template <class Scalar>
void add_step(ashlar::pass_timing& timing, team<Scalar> const& all,
              ashlar::program_view const& program) {
  timing.add(program, all.times(), [&](int rank, int device) { return all.is_here(rank, device); });
}

// The times of all processes together; all of them call it.
template <class Scalar>
ashlar::pass_times times_of_all(ashlar::pass_timing const& timing, team<Scalar>& all) {
  auto const& samples = timing.samples();
  auto const processes = static_cast<std::size_t>(all.processes());
  auto const self = static_cast<std::size_t>(all.process());
  std::vector<std::uint64_t> counts(processes * samples.size(), 0);
  for (std::size_t i = 0; i < samples.size(); ++i)
    counts[i * processes + self] = samples[i].kept().size();
  all.unite(counts);
  std::vector<std::vector<double>> together(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    std::size_t before = 0, total = 0;
    for (std::size_t process = 0; process < processes; ++process) {
      if (process == self) before = total;
      total += static_cast<std::size_t>(counts[i * processes + process]);
    }
    together[i].resize(total, 0.0);
    std::copy(samples[i].kept().begin(), samples[i].kept().end(),
              together[i].begin() + static_cast<std::ptrdiff_t>(before));
    if (total > 0) all.unite(together[i]);
  }
  return ashlar::pass_times(std::move(together));
}

}  // namespace tool
