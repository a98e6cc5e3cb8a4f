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

TEST_CASE("predict --freeze: a first share of all parameters, in whole layers") {
  auto const run = [](std::string const& words) {
    return predicted_run("--model 8B " + tuned_run + "--freeze " + words);
  };
  double const table = 128256.0 * 4096,
               layer = 2.0 * 4096 * 4096 + 2 * 4096 * 1024 + 3.0 * 4096 * 14336 + 2 * 4096;
  for (int layers : {1, 17, 32}) {
    double const ratio = (table + layers * layer + 10) / 8030261248.0;
    auto const share = run("ratio=" + std::to_string(ratio + 1e-4)),
               named = run("embedding,first=" + std::to_string(layers));
    CHECK(share["trained_parameters"] == named["trained_parameters"]);
    CHECK(share["step_seconds"] == named["step_seconds"]);
  }
  CHECK(run("ratio=0.01")["trained_parameters"] == 8030261248.0);
  all_refused(
      {{"predict --model 8B " + tuned_run + "--freeze ratio=2", "ratio must be a number from 0 to 1"}});
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
      {go + "tail", "--freeze: 'tail' is no part of the model"},
      {go + "layers=0-32", "a frozen layer must be from 0 to 31"},
      {go + "layers=9-3", "a frozen layer must be from 9 to 31"},
      {go + "layers=", "'layers=' is no part"},
      {go + "embedding,", "'' is no part of the model"},
      {go + "last=33", "a number of layers must be from 1 to 32"},
      {go + "head --train-only layers", "the same thing twice"},
      {"predict --model 8B " + tuned_run + "--train-only tail", "--train-only: 'tail' is no part"},
      {"predict --model 8B " + tuned_run + "--lora 8 --train-only head", "no part left"},
      {go + "embedding,head,layers=0-31", "nothing trains"},
      {"predict " + tuned_run + "--model "
           + scratch_file("bad_freeze.json", R"({"model_type":"llama","freeze":"layers=99"})"),
       "\"freeze\": a frozen layer must be"},
  });
}

TEST_CASE("predict --train-only: all other parts are frozen") {
  auto const run = [](std::string const& words) {
    return predicted_run("--model 8B " + tuned_run + words);
  };
  auto const same = [&](std::string const& some, std::string const& others) {
    auto const one = run("--train-only " + some), other = run("--freeze " + others);
    CHECK(one["trained_parameters"] == other["trained_parameters"]);
    CHECK(one["step_seconds"] == other["step_seconds"]);
    CHECK(one["peak_bytes"] == other["peak_bytes"]);
  };
  same("last=2", "embedding,head,layers=0-29");
  same("head,first=3", "embedding,layers=3-31");
  same("embedding,layers", "head");
  CHECK(run("--train-only embedding,layers,head")["step_seconds"] == run("")["step_seconds"]);
}

TEST_CASE("predict --train-only: norms or biases of the whole model") {
  std::string const bloom =
      scratch_file("bloom.json", R"({"model_type":"bloom","hidden_size":4096,"n_layer":30,)"
                                 R"("n_head":32,"vocab_size":250880})");
  std::string const job = " --cluster 8xH100 --sequence 2048 --batch 64 --sharding optimizer ";
  auto const all = predicted_run("--model " + bloom + job),
             biases = predicted_run("--model " + bloom + job + "--train-only biases"),
             unfrozen = predicted_run("--model " + bloom + job + "--train-only biases,unfrozen");
  // Four products and two norms of a layer, and the norms before and after all.
  double const count = 30 * (3 + 1 + 4 + 1 + 2) * 4096.0 + 2 * 4096;
  CHECK(biases["trained_parameters"] == count);
  CHECK(unfrozen["trained_parameters"] == count);
  CHECK(predicted_run("--model 8B" + job + "--train-only norms")["trained_parameters"] == 65 * 4096.0);
  CHECK(biases["step_seconds"] < 0.75 * all["step_seconds"].get<double>());
  CHECK(biases["memory"][0]["activations"] < all["memory"][0]["activations"]);
  CHECK(biases["memory"][0]["gradients"].get<double>() < 1e7);
  CHECK(biases["interval"].is_null());
  // Gradients of all are there in 16 bits, and the state of biases.
  CHECK(unfrozen["memory"][0]["gradients"].get<double>()
        == doctest::Approx(2 * all["parameters"].get<double>()).epsilon(1e-3));
  CHECK(unfrozen["memory"][0]["activations"] == all["memory"][0]["activations"]);
  CHECK(unfrozen["memory"][0]["optimizer"].get<double>() < 1e7);
  CHECK(unfrozen["interval"].is_null());
  for (std::string const words : {"biases", "biases,unfrozen", "norms"}) {
    std::string const run = "--model " + bloom + job + "--train-only " + words;
    std::string const file = scratch_file("vectors.json", run_tool("predict " + run + " --as run").out);
    CHECK(predicted_run("--run " + file)["step_seconds"] == predicted_run(run)["step_seconds"]);
    CHECK(contains(run_tool("plan --run " + file + " --top 1 --explain-against " + file, 60).out,
                   "--train-only " + words));
  }
  all_refused({{"predict --model 8B" + job + "--train-only biases", "the model has no biases"},
               {"predict --model " + bloom + job + "--train-only biases,head", "not 'head'"},
               {"predict --model " + bloom
                    + " --cluster 8xH100 --sequence 2048 --batch 64 --sharding full --train-only "
                      "biases,unfrozen",
                "shared by no rank"}});
}

TEST_CASE("predict --head: outputs in place of logits") {
  std::string const job = "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --sharding full ";
  auto const logits = predicted_run(job), one = predicted_run(job + "--head 1"),
             none = predicted_run(job + "--head 0");
  CHECK(one["parameters"] == 8030261248.0 - 128256 * 4096.0 + 4096);
  CHECK(none["parameters"] == 8030261248.0 - 128256 * 4096.0);
  CHECK(one["step_seconds"] < logits["step_seconds"]);
  CHECK(one["memory"][0]["logits"].get<double>() * 128256
        == doctest::Approx(logits["memory"][0]["logits"].get<double>()));
  CHECK(none["memory"][0]["logits"] == 0);
  CHECK(one["interval"].is_null());
  // A small head trains beside adapters, where logits do not.
  auto const adapted = predicted_run(job + "--head 2 --lora 8,q_proj");
  CHECK(adapted["trained_parameters"] == 32 * 8.0 * 2 * 4096 + 2 * 4096);
  all_refused({{"predict " + job + "--head some", "--head: outputs"},
               {"predict " + job + "--head 1 --lora 8,lm_head", "name no lm_head"}});
}

TEST_CASE("predict: forwards beside those that train, and a frozen copy") {
  std::string const job = "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --sharding full ";
  auto const alone = predicted_run(job), one = predicted_run(job + "--frozen-forwards 1"),
             two = predicted_run(job + "--frozen-forwards 2 --frozen-copy");
  double const forward = one["step_seconds"].get<double>() - alone["step_seconds"].get<double>();
  CHECK(forward > 0.25 * alone["step_seconds"].get<double>());
  CHECK(forward < 0.4 * alone["step_seconds"].get<double>());
  CHECK(two["step_seconds"].get<double>() - alone["step_seconds"].get<double>()
        == doctest::Approx(2 * forward));
  CHECK(one["peak_bytes"] == alone["peak_bytes"]);
  CHECK(two["peak_bytes"].get<double>() - alone["peak_bytes"].get<double>()
        == doctest::Approx(2 * 8'030'261'248.0 / 8).epsilon(1e-3));
  // Beside adapters the model is its own copy.
  CHECK(predicted_run(job + "--lora 8 --frozen-copy")["peak_bytes"]
        == predicted_run(job + "--lora 8")["peak_bytes"]);
  all_refused(
      {{"predict --model 8B --cluster 8xH100 --sequence 4096 --batch 64 --pipeline 2 "
        "--frozen-forwards 1",
        "when a pipeline runs them"}});
}

TEST_CASE("predict: a teacher of other sizes takes its forward, weights and logits") {
  std::string const job = "--model 8B --cluster 8xH100 --sequence 1024 --batch 64 --sharding full ";
  auto const alone = predicted_run(job), own = predicted_run(job + "--teacher llama3-8b"),
             beside = predicted_run(job + "--frozen-forwards 1"),
             large = predicted_run(job + "--teacher llama3-70b --recompute full");
  CHECK(own["step_seconds"].get<double>() == doctest::Approx(beside["step_seconds"].get<double>()));
  // Weights of the teacher in shards; logits in 16 bits and their softmax in 32.
  CHECK(own["peak_bytes"].get<double>() - alone["peak_bytes"].get<double>()
        == doctest::Approx(2 * 8'030'261'248.0 / 8 + 6 * 1024.0 * 128'256).epsilon(1e-3));
  CHECK(large["step_seconds"] > 2.5 * alone["step_seconds"].get<double>());
  CHECK(large["options"].get<std::string>().find("--teacher llama3-70b") != std::string::npos);
  // A plan of the run has the teacher, too, and no pipeline.
  std::string const file =
      scratch_file("taught.json", run_tool("predict " + job + "--teacher llama3-8b --as run").out);
  auto const plan = nlohmann::json::parse(run_tool("plan --run " + file + " --top 1 --as json", 60).out);
  auto const& best = plan["plans"][0];
  auto const options = best["options"].get<std::string>();
  CHECK(options.find("--teacher llama3-8b") != std::string::npos);
  CHECK(best["pipeline"] == 1);
  CHECK(best["seconds"] == predicted_run("--model 8B --cluster 8xH100 " + options)["step_seconds"]);
  all_refused(
      {{"predict --model 8B --cluster 8xH100 --sequence 4096 --batch 64 --pipeline 2 --teacher 8B",
        "--teacher: nothing here says when a pipeline"},
       {"predict --model 8B --cluster 8xH100 --sequence 4096 --batch 64 --teacher org/none",
        "--teacher: "}});
}

TEST_CASE("predict: gradients that are scattered once a step are held whole until then") {
  std::string const job = "--model 8B --cluster 8xH100 --sequence 1024 --batch 64 --sharding full ";
  auto const each = predicted_run(job), once = predicted_run(job + "--scatter-once"),
             single = predicted_run(job + "--micro-batch 8 --scatter-once");
  CHECK(once["step_seconds"] < each["step_seconds"]);
  CHECK(once["peak_bytes"].get<double>() - each["peak_bytes"].get<double>()
        == doctest::Approx(2 * 8'030'261'248.0).epsilon(1e-3));
  // With one micro-batch there is nothing to wait for.
  auto const usual = predicted_run(job + "--micro-batch 8");
  CHECK(single["step_seconds"] == usual["step_seconds"]);
  CHECK(single["peak_bytes"] == usual["peak_bytes"]);
}
