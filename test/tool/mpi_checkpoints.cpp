// Checkpoints of `ashlar train --backend mpi`: other backends go on from them, and any fault of them or
// of the disk ends all processes.
#include "tool/mpi_training.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

using namespace training_test;

namespace {

namespace fs = std::filesystem;

std::string const on_two = "-p 2 -m 4 --schedule 1f1b" + tiny;

}  // namespace

TEST_CASE("mpi: threads go on with a training of processes, from whole checkpoints alone") {
  std::string const whole = fresh_folder("whole"), folder = fresh_folder("resumed");
  CHECK(run_on(2, on_two + corpus() + " --steps 4 --save-every 2 --save " + whole).code == 0);
  for (char const* how : {"--schedule v-half -p 2", "--schedule gpipe -p 1"}) {
    CAPTURE(how);
    fs::remove_all(folder);
    CHECK(run_tool("train -m 4 --steps 4 " + std::string(how) + tiny + corpus() + " --resume "
                   + checkpoint_path(whole, 2) + " --save " + folder)
              .code
          == 0);
    CHECK(learned_after(folder, 4) == learned_after(whole, 4));
  }

  // The other process reads this part.
  std::string const bad = checkpoint_path(whole, 2), part = bad + "/device-1.safetensors";
  auto const refused = [&](std::string const& words) {
    tool_result const r = run_on(2, on_two + corpus() + " --steps 4 --resume " + bad);
    INFO(r.err);
    CHECK(r.code == 2);
    CHECK(occurrences(r.err, "'" + part + "' is damaged: " + words) == 1);
    CHECK(!contains(r.out, "1/4"));
  };
  damage(part, fs::file_size(part) - 3);
  refused("tensor 'norm.gain.second_moment' has another checksum");
  fs::resize_file(part, 1000);
  refused("it has 1000 bytes instead of ");
}

TEST_CASE(
    "mpi: a folder without room ends all processes before a step, and what they had saved goes on") {
  std::string const folder = fresh_folder("mpi_tmpfs"), told = (scratch() / "mpi_tmpfs_told").string();
  if (!with_small_disk(folder, "true", told)) {
    MESSAGE("skipped: no privilege to mount a small tmpfs");
    return;
  }
  std::string const saved = folder + "/saved";
  std::string line = on_processes(2, on_two + corpus() + " --save " + saved + " --steps ");
  for (auto at = line.find('\''); at != std::string::npos; at = line.find('\'')) line[at] = '"';
  CHECK(with_small_disk(folder,
                        line + "4 --save-every 2; test $? = 2 || exit 2; " + line + "2; " + line
                            + "4 --resume " + saved + "; test $? = 3 || exit 3; " + line + "2 --resume "
                            + saved,
                        told));
  std::string const out = content(told);
  INFO(out);
  CHECK(contains(out, "and each of 2 checkpoints takes "));
  CHECK(contains(out, "resumed after 2 steps from " + checkpoint_path(saved, 2)));
  CHECK(!contains(out, "\nstep-00000004"));
  // There is no room for another checkpoint beside that one, which shows before the third step.
  CHECK(contains(out, "--save: '" + saved + "' has room for "));
}
