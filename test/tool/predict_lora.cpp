// `ashlar predict --lora` from end to end. test/tool/lora_counts.py compares with peft and PyTorch.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

std::string const adapted_run =
    "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --pipeline 4 --sharding optimizer ";

}  // namespace

TEST_CASE("predict --lora: adapters alone train, and everything else has no gradients") {
  auto const all = predicted_run(adapted_run),
             some = predicted_run(adapted_run + "--lora 16,q_proj,v_proj"),
             wide = predicted_run(adapted_run + "--lora 32,q_proj,v_proj"),
             frozen = predicted_run(adapted_run + "--freeze embedding,layers=0-31");
  // Queries are 4096 wide, values 1024.
  CHECK(some["trained_parameters"] == 32 * 16.0 * (4096 + 4096 + 4096 + 1024));
  CHECK(wide["trained_parameters"] == 2 * some["trained_parameters"].get<double>());
  CHECK(some["parameters"] == all["parameters"]);
  CHECK(some["step_seconds"] < all["step_seconds"]);
  CHECK(some["step_seconds"] < wide["step_seconds"]);
  CHECK(some["peak_bytes"] < wide["peak_bytes"]);
  CHECK(wide["peak_bytes"] < all["peak_bytes"]);
  CHECK(some["interval"].is_null());
  // The first layers have a backward; where nothing but the head trains they have none.
  CHECK(some["step_seconds"] > frozen["step_seconds"]);
  CHECK(predicted_run(adapted_run + "--lora 16")["trained_parameters"]
        > some["trained_parameters"].get<double>());
}

TEST_CASE("predict --lora: an adapter of the head") {
  auto const without = predicted_run(adapted_run + "--lora 16,q_proj"),
             with = predicted_run(adapted_run + "--lora 16,q_proj,lm_head");
  CHECK(with["trained_parameters"].get<double>() - without["trained_parameters"].get<double>()
        == 16.0 * (4096 + 128256));
  CHECK(with["step_seconds"] > without["step_seconds"]);
  CHECK(with["memory"][3]["optimizer"] > without["memory"][3]["optimizer"]);
  CHECK(with["memory"][0] == without["memory"][0]);
}

TEST_CASE("predict --lora: inputs that adapters read are kept") {
  auto const kept = [](std::string const& targets) {
    return predicted_run(adapted_run + "--lora 8," + targets)["memory"][0]["activations"].get<double>();
  };
  CHECK(kept("o_proj") < kept("q_proj"));
  CHECK(kept("q_proj") < kept("q_proj,down_proj"));
  CHECK(kept("q_proj,down_proj") < kept("all"));
  CHECK(kept("all") <= predicted_run(adapted_run)["memory"][0]["activations"].get<double>() * 1.02);
}

TEST_CASE("predict --lora: a run's file keeps it, and plan reads it there") {
  std::string const run =
      scratch_file("lora.json", run_tool("predict " + adapted_run + "--lora 16,attention --as run").out);
  auto const again = predicted_run("--run " + run);
  CHECK(again["step_seconds"] == predicted_run(adapted_run + "--lora 16,attention")["step_seconds"]);
  auto const plan = nlohmann::json::parse(run_tool("plan --run " + run + " --top 1 --as json", 60).out);
  CHECK(plan["plans"][0]["seconds"] <= again["step_seconds"]);
  CHECK(contains(run_tool("plan --run " + run + " --top 1 --explain-against " + run, 60).out,
                 "--lora 16,attention"));
}

TEST_CASE("predict --frozen-weights: packed beside adapters, in a run's file and in plans") {
  std::string const run = adapted_run + "--lora 16 --frozen-weights 4-bit,double ";
  auto const p = predicted_run(run);
  CHECK(p["peak_bytes"] < predicted_run(adapted_run + "--lora 16")["peak_bytes"]);
  CHECK(p["trained_parameters"] == predicted_run(adapted_run + "--lora 16")["trained_parameters"]);
  std::string const file = scratch_file("packed.json", run_tool("predict " + run + "--as run").out);
  CHECK(predicted_run("--run " + file)["peak_bytes"] == p["peak_bytes"]);
  CHECK(contains(run_tool("plan --run " + file + " --top 1 --explain-against " + file, 60).out,
                 "--frozen-weights 4-bit,double"));
  CHECK(contains(run_tool("predict " + adapted_run + "--lora 16 --frozen-weights 8-bit").out,
                 "forward products take the time of 16 bits"));
  std::string const four = "predict " + adapted_run + "--lora 16 --frozen-weights ";
  all_refused({{"predict " + adapted_run + "--frozen-weights 4-bit", "--lora adds what does"},
               {four + "nf4", "not 'nf4'"},
               {four + "8-bit,double", "not 'double'"},
               {four + "rest=32-bit", "not 'rest=32-bit'"},
               {"predict --model mixtral-8x7b --cluster 8xH100 --sequence 4096 --batch 8 --lora 8 "
                "--frozen-weights 4-bit",
                "whether routed experts are packed"}});
}

TEST_CASE("predict --lora: DoRA and AdaLoRA have parameters and work of their own") {
  std::string const job = "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --sharding optimizer ";
  auto const low = predicted_run(job + "--lora 16,q_proj,v_proj"),
             dora = predicted_run(job + "--lora 16,dora,q_proj,v_proj"),
             drops = predicted_run(job + "--lora 16,dora,dropout,q_proj,v_proj"),
             ada = predicted_run(job + "--lora 16,adalora,q_proj,v_proj");
  auto const more = [&](nlohmann::json const& than, char const* key) {
    return than[key].get<double>() - low[key].get<double>();
  };
  CHECK(more(dora, "trained_parameters") == 32 * (4096 + 1024.0));
  CHECK(more(drops, "trained_parameters") == 32 * (4096 + 1024.0));
  CHECK(more(ada, "trained_parameters") == 32 * 2 * 16.0);
  CHECK(low["step_seconds"] < dora["step_seconds"]);
  CHECK(dora["step_seconds"] < drops["step_seconds"]);
  CHECK(ada["step_seconds"].get<double>()
        == doctest::Approx(low["step_seconds"].get<double>()).epsilon(1e-3));
  auto const part = [](nlohmann::json const& of, char const* key) {
    return of["memory"][0][key].get<double>();
  };
  // Both results of each matrix; one matrix of 4096 x 4096 at work, with an identity.
  CHECK(part(dora, "activations") - part(low, "activations")
        == doctest::Approx(32 * 4096.0 * 2 * 2 * (4096 + 1024)));
  CHECK(part(drops, "activations") - part(dora, "activations")
        == doctest::Approx(32 * 4096.0 * 3 * 2 * 4096));
  CHECK(part(dora, "gathered") - part(low, "gathered") == doctest::Approx(8 * 4096.0 * 4096));
  // The importance of each, and two averages.
  CHECK(part(ada, "optimizer") > part(low, "optimizer") + 12 * low["trained_parameters"].get<double>());
  all_refused({{"predict " + job + "--lora 16,dora,lm_head", "of whole matrices"},
               {"predict " + job + "--lora 16,dora --tensor 2", "of whole matrices"},
               {"predict " + job + "--lora 16,dropout", "'dropout' is no target"},
               {"predict " + job + "--lora 16,adalora --recompute op", "other products"}});
  // Fewer tokens do not make norms of weights cheaper.
  std::string const small = "--model 8B --cluster 8xH100 --sequence 64 --batch 64 ";
  auto const products = [](nlohmann::json const& of) { return of["terms"]["products"].get<double>(); };
  double const few = products(predicted_run(small + "--lora 16,dora"))
                     - products(predicted_run(small + "--lora 16")),
               many = products(predicted_run(job + "--lora 16,dora"))
                      - products(predicted_run(job + "--lora 16"));
  CHECK(few == doctest::Approx(many).epsilon(0.01));
}

TEST_CASE("predict --lora: wrong targets and models are refused") {
  all_refused({{"predict " + adapted_run + "--lora 16,qproj", "did you mean 'q_proj'?"},
               {"predict " + adapted_run + "--lora 0", "must be from 1 to"},
               {"predict " + adapted_run + "--lora 16,q_a_proj", "no layer has these"},
               {"predict " + adapted_run + "--lora 16 --freeze head", "freezes the whole model"}});
  CHECK(contains(run_tool("predict --model deepseek-v3 --cluster 4x8xH200 --sequence 4096 --batch 64 "
                          "--expert 32 --lora 16")
                     .out,
                 "--lora: without the layers that predict further tokens"));
}

TEST_CASE("plan --run: the model, the cluster and the batch are the file's, the layout is open") {
  std::string const run =
      scratch_file("plan.json", R"({"format": "ashlar-run", "version": 1, "model": "8B",)"
                                R"( "cluster": "8xH100", "batch": {"sequence": 4096, "sequences": 64},)"
                                R"( "layout": {"tensor": 8}, "program": {"precision": "fp8"}})");
  auto const planned = [](std::string const& options) {
    return nlohmann::json::parse(run_tool("plan " + options + " --top 1 --as json", 60).out)["plans"][0];
  };
  auto const typed =
      planned("--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --fix precision=fp8");
  CHECK(planned("--run " + run)["seconds"] == typed["seconds"]);
  CHECK(planned("--run " + run)["tensor"] != 8);
  auto const larger = planned("--run " + run + " --batch 128");
  CHECK(larger["seconds"] > typed["seconds"]);
  std::string const bare =
      scratch_file("bare.json", R"({"format": "ashlar-run", "version": 1, "model": "8B"})");
  all_refused({{"plan --run " + bare, "--cluster is required: the file does not say it"},
               {"plan --cluster 8xH100 --batch 64", "--model is required"},
               {"plan --model 8B --cluster 8xH100 --sequence 4096", "--batch is required"}});
}

TEST_CASE("predict --as costs: simulate takes as long as the passes and the bubble of the prediction") {
  std::string const run = "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --pipeline 4 ";
  auto const p = predicted_run(run);
  std::string const costs =
      scratch_file("predicted.json", run_tool("predict " + run + "--as costs").out);
  auto const simulated =
      nlohmann::json::parse(run_tool("simulate 1f1b -p 4 -m 32 --as json --costs " + costs).out);
  CHECK(simulated["time_unit"] == "ms");
  double const scale = simulated["ticks_per_unit"].get<double>();
  double const seconds = simulated["makespan"].get<double>() / scale / 1e3;
  CHECK(seconds == doctest::Approx(p["step_seconds"].get<double>()).epsilon(0.03));
}

TEST_CASE("predict --lora: copies of tables that train beside adapters") {
  std::string const job = "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 --sharding full ";
  auto const without = predicted_run(job + "--lora 8"),
             both = predicted_run(job + "--lora 8,train=embedding,train=head");
  double const tables = 2 * 128256 * 4096.0;
  CHECK(both["trained_parameters"].get<double>() - without["trained_parameters"].get<double>()
        == tables);
  CHECK(both["step_seconds"] > without["step_seconds"]);
  // The tables stay in 16 bits, and the copies are shards with their state.
  auto const state = [](nlohmann::json const& run) {
    auto const& m = run["memory"][0];
    return m["parameters"].get<double>() + m["gradients"].get<double>() + m["optimizer"].get<double>();
  };
  CHECK(state(both) - state(without) == doctest::Approx(16 * tables / 8).epsilon(1e-3));
  all_refused({{"predict --model gemma2-9b --cluster 8xH100 --sequence 4096 --batch 64 --lora "
                "8,train=head",
                "for models whose head is not tied"},
               {"predict " + job + "--lora 8,lm_head,train=head", "a head has an adapter, or trains"}});
}

TEST_CASE("predict --lora: rotations in blocks, by hand") {
  auto const oft = predicted_run(adapted_run + "--lora 32,oft,q_proj,down_proj"),
             wide = predicted_run(adapted_run + "--lora 64,oft,q_proj,down_proj"),
             low = predicted_run(adapted_run + "--lora 32,q_proj,down_proj");
  // Each block of 32 rows is made of what is above its diagonal.
  CHECK(oft["trained_parameters"] == 32 * (4096 + 14336) / 32 * (32 * 31 / 2.0));
  CHECK(oft["parameters"] == low["parameters"]);
  CHECK(oft["step_seconds"] < wide["step_seconds"]);
  CHECK(oft["interval"].is_null());
  CHECK(contains(run_tool("predict " + adapted_run + "--lora 32,oft").out, "adapters of blocks of 32"));
  // A copy of each input, not the result of A beside what A reads: the norm's result, and the
  // activation.
  auto const kept = [](nlohmann::json const& of) {
    return of["memory"][3]["activations"].get<double>();
  };
  // Seven copies of the blocks, in 16 bits.
  double const blocks = 8 * 7 * 2 * 32.0 * (4096 + 14336);
  CHECK(kept(wide) - kept(oft) == doctest::Approx(blocks).epsilon(1e-9));
  CHECK(kept(low) - kept(oft)
        == doctest::Approx(8 * 4096 * 2.0 * (2 * 32 + 4096 + 14336 - (4096 + 14336)) - blocks)
               .epsilon(1e-9));
  all_refused({{"predict " + adapted_run + "--lora 33,oft", "blocks of 33 rows do not divide"},
               {"predict " + adapted_run + "--lora 32,oft --tensor 2", "whole matrices"},
               {"predict " + adapted_run + "--lora 32,oft,lm_head", "whole matrices"},
               {"predict " + adapted_run + "--lora 32,oft,dropout", "no target"},
               {"predict " + adapted_run + "--lora 32,oft --recompute op", "other products"}});
}

TEST_CASE("predict --lora: peft's other kinds, and where they are not") {
  std::string const alone = "--model 8B --cluster 8xH100 --sequence 4096 --batch 64 ";
  auto const trained = [&](std::string const& words) {
    return predicted_run(alone + "--lora " + words)["trained_parameters"].get<double>();
  };
  CHECK(trained("256,vera,k_proj") == 32 * (256.0 + 1024));
  CHECK(trained("64,miss,k_proj") == 32 * 64 * 1024.0);
  CHECK(trained("64,bat,k_proj") == 32 * 64 * 1024.0);
  CHECK(trained("1,ia3,k_proj,down_proj") == 32 * (1024.0 + 14336));
  CHECK(trained("8,loha,k_proj") == 32 * 2 * 8.0 * (4096 + 1024));
  CHECK(trained("8,lokr,k_proj") == 32 * (64 * 32 + 8.0 * (64 + 32)));
  CHECK(trained("1000,fourierft,k_proj") == 32 * 1000);
  CHECK(trained("8,boft,k_proj") == 32 * (8 * 4096.0 + 1024));
  CHECK(contains(run_tool("predict " + alone + "--lora 1,ia3").out, "adapters of factors"));
  all_refused({{"predict " + alone + "--lora 8,vera --tensor 2", "whole matrices"},
               {"predict " + adapted_run + "--lora 8,vera", "--pipeline 1"},
               {"predict " + alone + "--lora 3,boft", "do not divide"},
               {"predict " + alone + "--lora 8,ia3", "no rank"},
               {"predict " + alone + "--lora 5000,miss,q_proj", "fewer than the rank"},
               {"predict " + alone + "--lora 8,loha --frozen-weights 4-bit", "no packed matrices"},
               {"predict " + alone + "--lora 8,lokr --recompute op", "other products"}});
}
