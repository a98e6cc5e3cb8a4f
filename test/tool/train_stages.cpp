// `ashlar train` with stages that are not plain runs of layers: shards, a prediction layer, other
// orders.
#include "tool/refusals.hpp"
#include "tool/training.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

using namespace training_test;

TEST_CASE("train: an output layer in shards, bit by bit") {
  for (char const* how :
       {"vocab-1 -p 3 -m 4", "vocab-2 -p 3 -m 4", "interlaced -p 2 -m 3 --precision double",
        "vocab-2 -p 1 -m 2", "vocab-1 -p 2 -m 4 --data-ranks 2 --sharding full",
        "vocab-2 -p 2 -m 4 --clip-micro-batches 1", "vocab-2 -p 2 -m 4 --optimizer-step after-norm",
        "vocab-1 -p 2 -m 4 --experts 3", "vocab-2 -p 3 -m 4 --input-shards",
        "1f1b -p 2 -m 4 --input-shards --last-sequences 1",
        "zb-h1 -p 2 -m 4 --input-shards --data-ranks 2 --sharding full",
        "v-half -p 2 -m 4 --input-shards --adapt 1", "vocab-2 -p 2 -m 4 --adapt 1",
        "vocab-2 -p 2 -m 4 --loss-scale 1024 --last-sequences 1"}) {
    CAPTURE(how);
    tool_result const r = run_tool("train --steps 2 --verify --schedule " + std::string(how)
                                   + tiny_of_any_size + " --sequences 2" + corpus());
    INFO(r.err);
    CHECK(r.code == 0);
    CHECK(contains(r.out, "losses and gradients of 2 steps bitwise equal to the sequential model's"));
  }
  all_refused(
      {{"train --steps 1 --schedule vocab-2 --tie-embeddings" + corpus(), "cannot be tied to a head"},
       {"train --steps 1 --schedule 1f1b --input-shards --tie-embeddings" + corpus(), "cannot be tied"},
       {"train --steps 1 --schedule chimera --input-shards" + corpus(), "more than one route"},
       {"train --steps 1 --schedule 1f1b --input-shards --clip-micro-batches 1" + corpus(),
        "do not go together"},
       {"simulate vocab-2 --tie-embeddings", "the output layer in shards on several"},
       {"show vocab-1 --tie-embeddings", "the output layer in shards on several"}});
}

TEST_CASE("train: stages in another order than the layers of a GPT are refused") {
  std::string const file = (scratch() / "graph.json").string();
  tool_result const json = run_tool("emit vocab-1 -p 2 -m 2 --as json");
  REQUIRE(json.code == 0);
  nlohmann::json schedule = nlohmann::json::parse(json.out);
  std::ofstream(file) << schedule;
  CHECK(run_tool("train --steps 1 --schedule " + file + tiny + corpus()).code == 0);
  // The stages stay, but none of them is a shard.
  schedule.erase("shards");
  std::ofstream(file) << schedule;
  all_refused({{"train --steps 1 --schedule " + file + tiny + corpus(), "not a chain"}});
}

namespace {

// Checks that it trains as the sequential model does, and reports the prediction layer's loss.
void check_prediction(std::string const& words) {
  tool_result const r = run_tool(words);
  CAPTURE(words);
  CAPTURE(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "bitwise equal to the sequential model's"));
  CHECK(contains(r.out, "prediction layer: loss "));
}

}  // namespace

TEST_CASE("train has a prediction layer in a stage of its own, and moves it there and back") {
  std::string const line = "train --verify --tie-embeddings --prediction-layer" + tiny + corpus();
  std::string const apart = line + " --prediction-stage behind";
  for (char const* how :
       {" --schedule 1f1b -p 3 -m 4", " --schedule v-half -p 2 -m 4 --adapt 1",
        " --schedule chimera -p 2 -m 2", " --schedule interleaved-zb -p 2 -m 4 --window 3",
        " --schedule zb-h1 -p 3 -m 3 --data-ranks 2 --sharding full --prediction-weight 0.5",
        " --schedule 1f1b-recompute -p 3 -m 2 --offload 50 --optimizer-step after-norm",
        " --schedule eager-1f1b -p 2 -m 3 --loss-scale 1024 --precision double"})
    check_prediction(apart + " --steps 2" + how);
  // On one device both arrangements add up in the same order.
  std::string const whole = fresh_folder("with_head"), own = fresh_folder("alone");
  std::string const back = fresh_folder("back"), here = " --steps 4 --save-every 2 -p 1 -m 4 --save ";
  CHECK(run_tool(line + " --schedule 1f1b" + here + whole).code == 0);
  CHECK(run_tool(apart + " --schedule depth-first -v 3" + here + own).code == 0);
  CHECK(learned_after(own, 4) == learned_after(whole, 4));
  for (bool const moves_in : {true, false}) {
    tool_result const on =
        run_tool((moves_in ? line + " --schedule 1f1b" : apart + " --schedule depth-first -v 2") + here
                 + back + " --resume " + checkpoint_path(moves_in ? own : whole, 2));
    INFO(on.err);
    CHECK(on.code == 0);
    CHECK(contains(on.out, "resumed after 2 steps"));
    CHECK(learned_after(back, 4) == learned_after(whole, 4));
    fresh_folder("back");
  }
  CHECK(run_tool(apart + " --schedule zb-h1 -p 3 -m 4 --steps 5 --resume " + whole).code == 0);
  all_refused(
      {{apart + " --schedule 1f1b -p 1",
        "the model needs at least 2 stages, the last for its prediction layer, not 1"},
       {"train --tie-embeddings --prediction-stage behind" + tiny + corpus(),
        "--prediction-stage has no effect without --prediction-layer"},
       {"train --prediction-layer --prediction-stage behind" + tiny + corpus(), "it needs the two tied"},
       {apart + " --experts 2", "a prediction layer has no experts"},
       {apart + " --schedule vocab-2", "cannot be tied to a head"},
       {apart + " --schedule 1f1b --input-shards", "cannot be tied to a head"},
       {apart + " --backend cuda", "--prediction-layer is for --backend host and mpi"}});
}

TEST_CASE("train has a prediction layer beside the head, in a stage of its own") {
  std::string const line = "train --verify --tie-embeddings --prediction-layer" + tiny + corpus();
  std::string const beside = line + " --prediction-stage beside";
  std::string const folder = fresh_folder("beside");
  // The file has four stages on two devices, with backward passes in two parts; the heads are no shards.
  std::string const file = (scratch() / "heads.json").string();
  nlohmann::json schedule = nlohmann::json::parse(run_tool("emit vocab-1 -p 2 -m 2 --as json").out);
  schedule.erase("shards");
  schedule.erase("starts");
  for (auto& order : schedule["orders"]) {
    auto parts = nlohmann::json::array();
    for (std::string pass : order) {
      auto const kind = pass.find('B');
      if (kind != std::string::npos) pass[kind] = 'I';
      parts.push_back(pass);
      if (kind != std::string::npos) parts.push_back(pass.replace(kind, 1, "W"));
    }
    order = std::move(parts);
  }
  std::ofstream(file) << schedule;
  for (std::string const& how :
       {" --schedule " + file, std::string(" --schedule 1f1b -p 4 -m 4"),
        std::string(" --schedule 1f1b -p 3 -m 5 --adapt 1 --window 2"),
        std::string(
            " --schedule 1f1b -p 3 -m 3 --data-ranks 2 --sharding full --optimizer-step after-norm")})
    check_prediction(beside + " --steps 2" + how);
  std::string const chain_file = (scratch() / "heads_chain.json").string();
  REQUIRE(run_tool("emit 1f1b -p 4 -m 4 --as json -o " + chain_file).code == 0);
  REQUIRE(run_tool(beside + " --schedule 1f1b -p 3 -m 4 --steps 2 --save " + folder).code == 0);
  for (char const* on : {"", " --prediction-stage behind"})
    CHECK(run_tool(line + on + " --schedule zb-h1 -p 2 -m 4 --steps 3 --resume " + folder).code == 0);
  all_refused(
      {{beside + " --schedule 1f1b -p 2",
        "the model needs at least 3 stages, the last for its prediction layer and one for its head"},
       {beside + " --schedule zb-h1 -p 4",
        "--prediction-stage beside is for 1f1b, and for schedules of such stages in files, not for "
        "zb-h1"},
       {beside + " --schedule " + chain_file, "are not a chain and two heads that read its end"},
       {line + " --prediction-stage behind --schedule " + file, "not a chain"},
       {line + " --schedule 1f1b --prediction-stage under", "--prediction-stage"}});
}

TEST_CASE("train has a prediction layer in the last stage, bit by bit, and its checkpoints do") {
  std::string const folder = fresh_folder("predicting");
  std::string const line = "train --verify --tie-embeddings --prediction-layer" + tiny + corpus();
  for (char const* how :
       {" --schedule 1f1b -p 2 -m 4", " --schedule v-half -p 2 -m 4", " --schedule chimera -p 2 -m 2",
        " --schedule zb-h1 -p 2 -m 3 --data-ranks 2 --sharding full --prediction-weight 0.5",
        " --schedule 1f1b-recompute -p 2 -m 2 --offload 50"})
    check_prediction(line + " --steps 2" + how);
  REQUIRE(run_tool(line + " --schedule 1f1b -p 1 -m 4 --steps 2 --save " + folder).code == 0);
  tool_result const on = run_tool(line + " --schedule zb-h1 -p 2 -m 4 --steps 3 --resume " + folder);
  CHECK(on.code == 0);
  CHECK(contains(on.out, "resumed after 2 steps"));
  std::string const other =
      "train --steps 3 --tie-embeddings --schedule 1f1b -p 1 -m 4 --resume " + folder + tiny + corpus();
  all_refused({{other, "--prediction-layer is false here, and true in '"},
               {"train --prediction-layer" + tiny + corpus(), "it needs the two tied"},
               {"train --prediction-weight 1" + tiny + corpus(),
                "--prediction-weight has no effect without --prediction-layer"},
               {"train --backend cuda --tie-embeddings --prediction-layer" + tiny + corpus(),
                "--prediction-layer is for --backend host and mpi"}});
}
