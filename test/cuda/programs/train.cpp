// `ashlar train --backend cuda`, on the substitute: the host's numbers within a tolerance, its own bit
// by bit, for every schedule.
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

using namespace training_test;

namespace {

std::string const on_gpus = "train --backend cuda" + tiny;
std::string const on_host = "train --backend host" + tiny;

// The result of three steps.
learned trained(std::string const& line) {
  std::string const folder = fresh_folder("cuda");
  tool_result const r = run_tool(line + corpus() + " --steps 3 --save " + folder, 100);
  CAPTURE(line);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return learned_after(folder, 3);
}

void require_refused(std::string const& options, std::string const& why) {
  tool_result const r = run_tool(on_gpus + corpus() + " --steps 1 " + options);
  CAPTURE(options);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK_MESSAGE(contains(r.err, why), r.err);
}

}  // namespace

TEST_CASE("cuda train: losses and gradients are the host's within a tolerance") {
  for (char const* const options :
       {" --schedule 1f1b -p 2 -m 4", " --schedule zb-h1 -p 2 -m 3 --no-graph",
        " --schedule chimera -p 2 -m 2", " --schedule v-half -p 2 -m 4 --tie-embeddings",
        " --schedule 1f1b-recompute -p 2 -m 2 --data-ranks 2 --sharding full"}) {
    tool_result const r = run_tool(on_gpus + corpus() + options + " --steps 3 --verify", 100);
    CAPTURE(options);
    CHECK_MESSAGE(r.code == 0, r.out << r.err);
    CHECK(contains(r.out, "verified: losses and gradients of 2 steps within 0.0001 of"));
  }
}

TEST_CASE("cuda train: all schedules, issued or replayed, learn the same bits") {
  learned const one = trained(on_gpus + " --schedule 1f1b -p 1 -m 4"),
                host = trained(on_host + " --schedule 1f1b -p 1 -m 4");
  CHECK(one == trained(on_gpus + " --schedule zb-h1 -p 4 -m 4"));
  CHECK(one == trained(on_gpus + " --schedule v-half -p 2 -m 4 --no-graph"));
  CHECK(one.losses["first"].get<double>()
        == doctest::Approx(host.losses["first"].get<double>()).epsilon(1e-5));
  CHECK(one.losses["mean"].get<double>()
        == doctest::Approx(host.losses["mean"].get<double>()).epsilon(1e-5));
}

TEST_CASE("cuda train: what leaves for the host and comes back changes no bit") {
  std::string const line = on_gpus + " --schedule 1f1b -p 2 -m 4";
  learned const stays = trained(line);
  for (char const* const how : {"", " --no-graph"})
    CHECK(stays == trained(line + " --offload 100" + how));
  tool_result const r = run_tool(line + corpus() + " --offload 100 --no-graph --steps 2 --verify", 100);
  CHECK_MESSAGE(r.code == 0, r.out << r.err);
  CHECK(contains(r.out, "leave for the host and come back"));
  peaks const held = peaks_in(r.out);
  REQUIRE(held.found);
  CHECK((held.measured_on_devices > 0 && held.measured_on_devices <= held.on_devices));
  CHECK((held.measured_on_hosts > 0 && held.measured_on_hosts <= held.on_hosts));
}

TEST_CASE("cuda train: in bf16 the loss is near the host's") {
  learned const half = trained(on_gpus + " --schedule zb-h1 -p 2 -m 4 --precision bf16"),
                host = trained(on_host + " --schedule zb-h1 -p 2 -m 4");
  CHECK(half.losses["mean"].get<double>() != host.losses["mean"].get<double>());
  CHECK(half.losses["mean"].get<double>()
        == doctest::Approx(host.losses["mean"].get<double>()).epsilon(5e-3));
}

TEST_CASE("cuda train: in bf16, what ranks share changes no bit") {
  std::string const ranks =
      on_gpus + " --schedule zb-h1 -p 2 -m 2 --data-ranks 2 --precision bf16 --sharding ";
  learned const whole = trained(ranks + "none");
  for (char const* const level : {"optimizer", "full"}) CHECK(whole == trained(ranks + level));
}

TEST_CASE("cuda train: a checkpoint goes from the host to GPUs and back") {
  std::string const folder = fresh_folder("both"), rest = corpus() + " -m 2 --save " + folder;
  REQUIRE(run_tool(on_host + rest + " --schedule 1f1b -p 2 --steps 2").code == 0);
  tool_result const there =
      run_tool(on_gpus + rest + " --schedule zb-h1 -p 4 --verify --steps 4 --resume " + folder, 100);
  CHECK_MESSAGE(there.code == 0, there.out << there.err);
  tool_result const back =
      run_tool(on_host + rest + " --schedule v-half -p 2 --verify --steps 6 --resume " + folder, 100);
  CHECK_MESSAGE(back.code == 0, back.out << back.err);

  std::string const alone = fresh_folder("alone");
  for (int const steps : {2, 4, 6})
    REQUIRE(run_tool(on_host + corpus() + " -m 2 -p 1 --schedule 1f1b --save " + alone + " --steps "
                     + std::to_string(steps) + (steps > 2 ? " --resume " + alone : ""))
                .code
            == 0);
  CHECK(learned_after(folder, 6).losses["mean"].get<double>()
        == doctest::Approx(learned_after(alone, 6).losses["mean"].get<double>()).epsilon(1e-4));
}

TEST_CASE("cuda train: a trace has every pass of all devices") {
  std::string const path = (scratch() / "cuda.json").string();
  tool_result const r = run_tool(
      on_gpus + corpus() + " --schedule zb-h1 -p 2 -m 3 --data-ranks 2 --steps 1 --trace " + path, 100);
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(contains(r.out, "the simulation gives each one of its own"));
  std::set<std::string> passes;
  auto const trace = nlohmann::json::parse(content(path));
  for (auto const& e : trace["traceEvents"])
    if (e["ph"] == "X" && e["cat"] != "communication") {
      CHECK(e["dur"].get<double>() >= 0);
      passes.insert(std::to_string(e["pid"].get<int>()) + " " + e["name"].get<std::string>());
    }
  CHECK(passes.size() == 2 * 2 * 3 * 3);  // ranks, stages, micro-batches, kinds
}

TEST_CASE("cuda profile: passes, messages and sums, as a training reads them") {
  std::string const file = (scratch() / "cuda_costs.json").string();
  tool_result const r = run_tool("profile --backend cuda --schedule 1f1b -p 2 -m 2 --repeats 2 -o "
                                 + file + tiny + corpus());
  REQUIRE_MESSAGE(r.code == 0, r.err);
  CHECK(contains(r.out, "2 devices share 1 GPU"));
  auto const costs = nlohmann::json::parse(content(file))["costs"];
  CHECK(costs["measured"]["backend"] == "cuda");
  REQUIRE(costs["stages"].size() == 2);
  for (auto const& stage : costs["stages"])
    for (char const* kind : {"forward", "backward_input", "backward_weight"}) {
      CHECK(stage[kind]["samples"] == 4);
      CHECK(stage[kind]["median"].get<double>() > 0);
    }
  CHECK(costs["links"]["inside"]["latency"]["samples"] == 10);
  CHECK(costs["collective"]["latency"]["samples"] == 10);
  tool_result const trained =
      run_tool(on_gpus + corpus() + " --schedule 1f1b -p 2 -m 2 --steps 3 --costs " + file);
  CHECK_MESSAGE(trained.code == 0, trained.err);
  CHECK(contains(trained.out, "\npredicted with the costs of '" + file + "': "));
}

TEST_CASE("cuda train: a program that adapts learns the same bits") {
  std::string stages;
  for (int const times : {1, 1, 1, 2})
    stages += std::string(stages.empty() ? "" : ",") + R"({"forward": )" + std::to_string(times)
              + R"(, "backward_input": )" + std::to_string(2 * times) + R"(, "backward_weight": 1})";
  std::string const costs =
      scratch_file("cuda_uneven.json", R"({"costs": {"unit": "us", "stages": [)" + stages + "]}}");
  std::string const line = on_gpus + corpus() + " --schedule hanayo -p 2 -m 4 --steps 5 --save ";
  std::string const plain = fresh_folder("plain"), adapted = fresh_folder("adapted");
  REQUIRE(run_tool(line + plain, 100).code == 0);
  tool_result const r = run_tool(line + adapted + " --adapt 2 --verify --costs " + costs, 100);
  CHECK_MESSAGE(r.code == 0, r.out << r.err);
  CHECK(contains(r.out, "after 2 steps: another program, proved"));
  CHECK(contains(r.out, "verified: losses and gradients of 2 steps within 0.0001 of"));
  CHECK(learned_after(adapted, 5) == learned_after(plain, 5));

  for (char const* const how : {"", " --no-graph"}) {
    tool_result const measured =
        run_tool(on_gpus + corpus() + " --schedule zb-h1 -p 2 -m 2 --steps 3 --adapt 2" + how);
    CHECK_MESSAGE(measured.code == 0, measured.err);
    CHECK(contains(measured.out, "after 2 steps: "));
    CHECK(contains(measured.out, "\npredicted with the pass times of the first"));
  }
}

// The substitute's GPU has 1 GiB.
TEST_CASE("cuda train: what does not fit on a GPU is refused before the first step") {
  std::string const line =
      "train --backend cuda --schedule 1f1b -p 1 -m 1 --steps 1 --width 64 --heads 8 --context 16 "
      "--sequences 1"
      + corpus() + " --blocks ";
  setenv("CUDA_SUBSTITUTE_MEMORY", "50331648", 1);
  tool_result const slots = run_tool(line + "22");
  CHECK(slots.code == 2);
  CHECK(slots.out.find("1/1") == std::string::npos);
  CHECK_MESSAGE(contains(slots.err, "left of 48.0 MiB, but slots need "), slots.err);
  CHECK_MESSAGE(contains(slots.err, "device 0: "), slots.err);
  tool_result const parameters = run_tool(line + "32");
  unsetenv("CUDA_SUBSTITUTE_MEMORY");
  CHECK(parameters.code == 2);
  CHECK_MESSAGE(contains(parameters.err, "the GPUs lack the memory for parameters"), parameters.err);
}

TEST_CASE("cuda train: options that do not go together, and GPUs that are not there") {
  require_refused("--precision double", "float or bf16");
  require_refused("--precision bf16 --verify", "--verify needs --precision float");
  require_refused("--gpus 0,99", "there is no GPU 99 here");
  for (char const* const options : {"--gpus 0", "--no-graph", "--precision bf16"}) {
    tool_result const r = run_tool(on_host + corpus() + " " + options);
    CHECK(r.code == 2);
    CHECK(contains(r.err, "--backend cuda"));
  }
}
