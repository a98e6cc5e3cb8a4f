// A training saves after each step and is killed at any moment: while it starts, computes, writes, waits
// for the disk, renames or removes.
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>
#include <thread>

using namespace training_test;

namespace {

bool has_checkpoint(std::string const& folder) {
  std::error_code none_yet;
  for (auto const& entry : std::filesystem::directory_iterator(folder, none_yet))
    if (entry.path().extension() == ".checkpoint") return true;
  return false;
}

}  // namespace

TEST_CASE("a training that is killed at any moment resumes and learns what it would have learned") {
  using clock = std::chrono::steady_clock;
  constexpr int rounds = 6, attempts = 10 * rounds, steps = 5;
  std::string const whole = fresh_folder("whole");
  std::string const line = "train --schedule 1f1b -p 2 -m 4" + tiny + " --steps " + std::to_string(steps)
                           + " --save-every 1" + corpus() + " --save ";
  auto begin = clock::now();
  REQUIRE(run_tool(line + whole).code == 0);
  std::chrono::duration<double> takes = clock::now() - begin;
  learned const expected = learned_after(whole, steps);

  auto const seed = static_cast<unsigned>(getpid());
  CAPTURE(seed);
  std::mt19937 random(seed);
  int killed = 0;
  for (int i = 0; i < attempts && killed < rounds; ++i) {
    std::string const folder = fresh_folder("killed");
    begin = clock::now();
    running_program const run("'" ASHLAR_TOOL "' " + line + folder);
    std::this_thread::sleep_for(takes * std::uniform_real_distribution<double>(0, 1)(random));
    kill_those_with({folder});
    tool_result const end = run.end();
    if (end.code == 0) takes = clock::now() - begin;  // it was too late
    if (end.code != 137) continue;
    ++killed;
    tool_result const r =
        run_tool(line + folder + (has_checkpoint(folder) ? " --resume " + folder : ""));
    INFO(r.err);
    CHECK(r.code == 0);
    CHECK(learned_after(folder, steps) == expected);
  }
  CHECK(killed == rounds);
}
