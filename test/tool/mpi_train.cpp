// `ashlar train --backend mpi` under a real launcher: processes learn what the host learns.
#include "tool/mpi_training.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <string>

using namespace training_test;

TEST_CASE("mpi: processes learn what threads learn, bit by bit, and verify it") {
  for (char const* shape :
       {"-p 4 -m 4 --schedule v-half",
        "-p 2 -m 2 --schedule 1f1b --data-ranks 2 --sharding full --tie-embeddings",
        "-p 2 -m 2 --schedule chimera --data-ranks 2 --reduction at-end --precision double",
        "-p 2 -m 2 --schedule breadth-first --data-ranks 2 --sharding gradients --reduction at-end",
        "-p 2 -m 2 --schedule interleaved-zb --data-ranks 2 --sharding optimizer --tie-embeddings",
        "-p 2 -m 2 --schedule zb-h1 --data-ranks 2 --sharding weights",
        "-p 4 -m 4 --schedule vocab-2 --input-shards",
        "-p 2 -m 3 --schedule vocab-1 --data-ranks 2 --sharding full",
        "-p 4 -m 4 --schedule 1f1b --tie-embeddings --prediction-layer",
        "-p 4 -m 4 --schedule zb-h1 --tie-embeddings --prediction-layer --prediction-stage behind",
        "-p 4 -m 4 --schedule 1f1b --tie-embeddings --prediction-layer --prediction-stage beside",
        "-p 4 -m 3 --schedule zb-h1 --sequences 3 --last-sequences 2",
        "-p 4 -m 6 --schedule 1f1b --offload 100",
        "-p 2 -m 4 --schedule v-half --offload 60 --data-ranks 2 --sharding full"}) {
    CAPTURE(shape);
    std::string const here = fresh_folder("host"), there = fresh_folder("mpi");
    bool const is_sized = contains(shape, "--sequences");
    std::string const line =
        shape + (is_sized ? tiny_of_any_size : tiny) + corpus() + " --steps 2 --save ";
    CHECK(run_tool("train " + line + here).code == 0);
    tool_result const r = run_on(4, line + there + " --verify");
    INFO(r.err);
    CHECK(r.code == 0);
    CHECK(contains(r.out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
    CHECK(occurrences(r.out, "unigram entropy of the text") == 1);
    CHECK(learned_after(there, 2) == learned_after(here, 2));
    peaks const held = peaks_in(r.out);
    CHECK(held.found == contains(shape, "--offload"));
    if (!held.found) continue;
    CHECK((held.measured_on_devices > 0 && held.measured_on_devices <= held.on_devices));
    CHECK((held.measured_on_hosts > 0 && held.measured_on_hosts <= held.on_hosts));
  }
}

TEST_CASE("mpi: a training of threads goes on with processes; the timeline has all of them") {
  std::string const whole = fresh_folder("whole"), folder = fresh_folder("resumed");
  std::string const trace = (scratch() / "mpi_step.json").string();
  CHECK(run_tool("train --schedule 1f1b -p 1 -m 4 --steps 4 --save-every 2 --save " + whole + tiny
                 + corpus())
            .code
        == 0);
  tool_result const r =
      run_on(2, "--schedule 1f1b -p 2 -m 4 --steps 4 --resume " + checkpoint_path(whole, 2) + " --save "
                    + folder + " --trace " + trace + tiny + corpus());
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(learned_after(folder, 4) == learned_after(whole, 4));
  int passes = 0;
  auto const events = nlohmann::json::parse(content(trace))["traceEvents"];
  for (auto const& e : events)
    if (e["ph"] == "X" && e["cat"] != "communication") {
      ++passes;
      CHECK(e["dur"].get<double>() > 0);
    }
  CHECK(passes == 16);
}

TEST_CASE("mpi: processes are profiled, and adapt to what was measured without another bit") {
  std::string const file = (scratch() / "mpi_costs.json").string();
  tool_result const r =
      run_line(keeping
               + ASHLAR_MPI_LAUNCH " 2 '" ASHLAR_TOOL
                                   "' profile --backend mpi --schedule hanayo -p 2 -m 4 --repeats 2 -o "
               + file + tiny + corpus());
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(occurrences(r.out, "a message: ") == 1);
  auto const costs = nlohmann::json::parse(content(file))["costs"];
  REQUIRE(costs["stages"].size() == 4);
  for (auto const& stage : costs["stages"]) {  // of two processes
    CHECK(stage["forward"]["samples"] == 8);
    CHECK(stage["forward"]["lower_quartile"].get<double>() > 0);
  }
  CHECK(costs["measured"]["processes"] == 2);
  CHECK(costs["links"]["node_size"] == 0);
  CHECK(costs["links"]["inside"]["latency"]["median"].get<double>() > 0);
  std::string const line = "-p 2 -m 4 --schedule hanayo --steps 4" + tiny + corpus() + " --save ";
  std::string const here = fresh_folder("host"), there = fresh_folder("mpi");
  CHECK(run_tool("train " + line + here).code == 0);
  std::string stages;
  for (char const* stage : {"1, 2", "1, 2", "1, 2", "2, 4"}) {
    std::string const words = stage;
    stages += std::string(stages.empty() ? "" : ",") + R"({"forward": )" + words.substr(0, 1)
              + R"(, "backward_input": )" + words.substr(3) + R"(, "backward_weight": 1})";
  }
  std::string const costs_file =
      scratch_file("mpi_uneven.json", R"({"costs": {"unit": "us", "stages": [)" + stages + "]}}");
  tool_result const adapted = run_on(2, line + there + " --adapt 2 --verify --costs " + costs_file);
  INFO(adapted.err);
  CHECK(adapted.code == 0);
  CHECK(occurrences(adapted.out, "after 2 steps: another program, proved") == 1);
  CHECK(occurrences(adapted.out, "\npredicted with the costs of '" + costs_file + "': ") == 1);
  CHECK(occurrences(adapted.out, "\nsimulated with the pass times of all 2 steps: ") == 1);
  CHECK(learned_after(there, 4) == learned_after(here, 4));
}

TEST_CASE("mpi: another number of processes is refused once, with both numbers") {
  std::string const line = "-p 2 -m 2 --schedule 1f1b --data-ranks 2 --steps 1" + tiny + corpus();
  tool_result const alone = run_line(keeping + train_mpi + line);
  CHECK(alone.code == 2);
  CHECK(contains(alone.err,
                 "--backend mpi needs a process for each of 4 devices (2 devices of 2 data-parallel "
                 "ranks), and there is 1: start it with mpirun -n 4"));
  tool_result const three = run_on(3, line);
  CHECK(three.code == 2);
  CHECK(occurrences(three.err, "and there are 3: start it with mpirun -n 4") == 1);
}

TEST_CASE("mpi: numbers that are not finite, and signals, end all processes with one code") {
  std::string const line = "-p 2 -m 2 --schedule 1f1b" + tiny + corpus();
  tool_result const wild = run_on(2, line + " --steps 30 --learning-rate 1e9");
  CHECK(wild.code == 1);
  CHECK(occurrences(wild.out, ": the loss is ") == 1);
  CHECK(contains(wild.out, "as stage "));
  tool_result const skipped = run_on(2, line + " --steps 30 --learning-rate 1e9 --skip-nonfinite");
  CHECK(skipped.code == 0);
  CHECK(contains(skipped.out, "skipped, as their numbers were not finite: "));
  running_program const run(on_processes(2, line + " --steps 1000000 --seed 77"));
  run.wait_for("1/1000000");
  CHECK(kill_those_with({std::string("--seed\0"
                                     "77",
                                     9)},
                        SIGINT, 1)
        == 1);
  tool_result const r = run.end();
  CHECK(r.code == 130);
  CHECK(occurrences(r.out, "interrupted; ") == 1);
}

TEST_CASE("mpi: a process that stops ends the training after the deadline, with who waits for whom") {
  running_program const run(
      on_processes(2, "-p 2 -m 2 --schedule 1f1b --steps 999983 --deadline 3" + tiny + corpus()));
  run.wait_for("1/999983");
  CHECK(kill_those_with({"999983"}, SIGSTOP, 1) == 1);
  tool_result const r = run.end();
  INFO(r.out);
  CHECK(r.code == 3);
  CHECK(contains(r.out, " has waited "));
  CHECK(contains(r.out, " does not answer"));
}

TEST_CASE("mpi: a profile waits for a process that stops no longer than a training does") {
  running_program const run(
      keeping
      + ASHLAR_MPI_LAUNCH
      " 2 '" ASHLAR_TOOL
      "' profile --backend mpi -p 2 -m 2 --schedule 1f1b --repeats 100000 --deadline 3 -o "
      + (scratch() / "never.json").string() + tiny + corpus());
  run.wait_for("a step of a sum over all: ");
  CHECK(kill_those_with({"never.json"}, SIGSTOP, 1) == 1);
  tool_result const r = run.end();
  INFO(r.out);
  CHECK(r.code == 3);
  CHECK(contains(r.out, " has waited "));
  CHECK(contains(r.out, " does not answer"));
}

TEST_CASE("mpi: a training one of whose processes is killed goes on from its last checkpoint") {
  std::string const whole = fresh_folder("whole"), folder = fresh_folder("restarted");
  std::string const line = "--schedule 1f1b -p 2 -m 4 --steps 150 --save-every 5" + tiny + corpus();
  CHECK(run_tool("train " + line + " --save " + whole).code == 0);
  std::string const launcher =
      std::string(ASHLAR_MPI_LAUNCH).substr(0, std::string(ASHLAR_MPI_LAUNCH).rfind(' '));
  running_program const run(keeping + train_mpi + "--restart 1 --deadline 10 --launcher '" + launcher
                            + "' --save " + folder + " " + line);
  run.wait_for("saved " + checkpoint_path(folder, 30));
  CHECK(kill_those_with({supervised, folder}, SIGKILL, 1) == 1);
  tool_result const r = run.end();
  INFO(r.out);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "restart 1 of 1 from " + folder));
  CHECK(learned_after(folder, 150) == learned_after(whole, 150));
}

// A shell stands for a launcher that waits for ever when its processes have ended.
TEST_CASE(
    "mpi: a launcher that outlives its processes is killed, and counts as how the training ended") {
  std::string const folder = fresh_folder("outlived");
  std::string const launcher =
      scratch_file("staying.sh", ASHLAR_MPI_LAUNCH " 2 \"${@:3}\"; sleep 1000\n");
  tool_result const r =
      run_line(keeping + train_mpi + "--restart 1 --deadline 3 --launcher 'bash " + launcher
               + "' --save " + folder + " --schedule 1f1b -p 2 -m 4 --steps 40" + tiny + corpus());
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.err, "the launcher is killed: its processes have ended, and it has not, for 3 s"));
  CHECK_FALSE(contains(r.err, "restart 1 of 1"));
  CHECK(contains(r.out, "40/40"));
}

TEST_CASE("mpi: a process that never comes ends the others after the deadline") {
  tool_result const r = run_line(keeping + ASHLAR_MPI_LAUNCH " 1 " + train_mpi
                                 + "--schedule 1f1b -p 2 -m 4 --steps 3 --deadline 2" + tiny + corpus()
                                 + " : -n 1 sleep 60");
  INFO(r.err);
  CHECK(r.code == 3);
  CHECK(contains(r.err, "MPI has not started within 2000 ms: not all processes have come"));
}

// Each process has its own line: the last word of it is another one.
TEST_CASE("mpi: processes with other options end before the first step, with the option") {
  std::string const other = scratch_file("other.txt", std::string(20'000, 'x'));
  auto const ends = [&](std::string const& option, std::string const& first, std::string const& second,
                        std::string const& words) {
    CAPTURE(option);
    std::string const script = scratch_file(
        "each.sh", "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 ] && own='" + first + "' || own='"
                       + second + "'\nexec " + train_mpi + "\"$@\" " + option + " $own\n");
    tool_result const r =
        run_line(keeping + ASHLAR_MPI_LAUNCH " 2 sh " + script + " --schedule 1f1b -p 2 -m 2 --steps 3"
                 + tiny + (option == "--corpus" ? "" : corpus()));
    CHECK(r.code != 0);
    CAPTURE(r.err);
    CHECK(contains(r.err, words));
    CHECK_FALSE(contains(r.out, "3/3"));
  };
  ends("--seed", "1", "2", "--seed is 2 in process 1 and 1 in process 0");
  ends("--learning-rate", "0.01", "0.02", "--learning-rate is 0.02 in process 1 and 0.01 in process 0");
  ends("--clip-norm", "1", "2", "--clip-norm is 2 in process 1 and 1 in process 0");
  corpus();
  ends("--corpus", (scratch() / "corpus.txt").string(), other,
       "--corpus is a text of 20000 bytes with checksum ");
}
