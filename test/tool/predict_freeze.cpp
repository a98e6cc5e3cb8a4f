// `ashlar predict --freeze` from end to end.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

std::string const tuned_run =
    "--cluster 2x8xH100 --sequence 4096 --batch 64 --pipeline 4 --sharding optimizer ";

}  // namespace

TEST_CASE("predict --freeze: less time, less memory, and what trains is told") {
  auto const all = predicted_run("--model 8B " + tuned_run),
             some = predicted_run("--model 8B --freeze embedding,layers=0-15,layers=20 " + tuned_run);
  CHECK(all["trained_parameters"] == all["parameters"]);
  CHECK(some["parameters"] == all["parameters"]);
  double const layer = 2.0 * 4096 * 4096 + 2 * 4096 * 1024 + 3.0 * 4096 * 14336 + 2 * 4096;
  CHECK(some["trained_parameters"] == 8030261248.0 - 17 * layer - 128256.0 * 4096);
  CHECK(some["step_seconds"].get<double>() < all["step_seconds"].get<double>());
  CHECK(some["peak_bytes"].get<double>() < all["peak_bytes"].get<double>());
  CHECK(some["memory"][0]["gradients"] == 0.0);
  CHECK(some["memory"][0]["activations"] == 0.0);
  CHECK(some["interval"].is_null());
  CHECK(contains(run_tool("predict --model 8B --freeze head " + tuned_run).out,
                 "7.505 billion of them train"));
}

TEST_CASE("predict --freeze: a model's file can say it, and the command line something else") {
  std::string const keys =
      R"("model_type":"llama","hidden_size":1024,"intermediate_size":4096,"num_attention_heads":8,)"
      R"("num_hidden_layers":8,"vocab_size":32000)";
  std::string const plain = scratch_file("thawed.json", "{" + keys + "}"),
                    frozen =
                        scratch_file("frozen.json", "{" + keys + R"(,"freeze":"embedding,layers=0-3"})");
  auto const run = [&](std::string const& model) {
    return predicted_run("--model " + model + " " + tuned_run);
  };
  auto const said = run(frozen), asked = run(plain + " --freeze embedding,layers=0-3");
  CHECK(said["step_seconds"] == asked["step_seconds"]);
  CHECK(said["trained_parameters"] == asked["trained_parameters"]);
  CHECK(run(frozen + " --freeze head")["step_seconds"] == run(plain + " --freeze head")["step_seconds"]);
}

TEST_CASE("predict --freeze: what cannot be frozen is said") {
  std::string const go = "predict --model 8B " + tuned_run + "--freeze ";
  all_refused({
      {go + "tail", "--freeze: 'tail' cannot be frozen"},
      {go + "layers=0-32", "a frozen layer must be from 0 to 31"},
      {go + "layers=9-3", "a frozen layer must be from 9 to 31"},
      {go + "layers=", "a frozen layer must be from 0 to 31"},
      {go + "embedding,", "'' cannot be frozen"},
      {go + "embedding,head,layers=0-31", "nothing trains"},
      {"predict " + tuned_run + "--model "
           + scratch_file("bad_freeze.json", R"({"model_type":"llama","freeze":"layers=99"})"),
       "\"freeze\": a frozen layer must be"},
  });
}
