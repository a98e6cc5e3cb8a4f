// Values that runs send to their hosts: `ashlar predict` and `ashlar plan`.
#include "tool/predicting.hpp"
#include "tool/refusals.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

// Four devices of 30 GB, or as given, and the memory of their host.
std::string small_cluster(std::string const& gigabytes = "30") {
  return scratch_file("small-hosts-" + gigabytes + ".json",
                      R"({"nodes": 1, "generation": "hopper", "devices_per_node": 4, "domain": 4,
 "peak_flops": {"fp32": 60e12, "bf16": 989e12}, "memory_bytes": )"
                          + gigabytes + R"(e9, "memory_bandwidth": 3.35e12,
 "link_inside": 450e9, "link_outside": 50e9, "units": 132, "exponentials": 3.8e12, "power_watts": 700,
 "host_link": 55e9, "host_memory_bytes": 250e9, "host_memory_bandwidth": 77e9})");
}

std::string const small_model = "--model llama3-8b --sequence 8192 --batch 16 ";

nlohmann::json plan_with_hosts(std::string const& arguments) {
  tool_result const r = run_tool("plan --as json --schedules 1f1b,interleaved " + arguments);
  CAPTURE(arguments);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

}  // namespace

TEST_CASE("predict: what leaves for the host is in the answer") {
  std::string const same =
      "--model llama3-8b --cluster 8xH100 --sequence 16384 --batch 16 --tensor 2 "
      "--sharding optimizer --stack megatron-core ";
  auto const here = predicted_run(same),
             away = predicted_run(same + "--offload-activations core_attn,attn_norm"),
             updated = predicted_run(same + "--offload-optimizer");
  CHECK(here["peak_host_bytes"] == 0);
  CHECK(here["terms"]["offload"] == 0);
  CHECK(away["peak_bytes"] < here["peak_bytes"]);
  // 32 layers of 16384 tokens on two tensor ranks: an input, and queries, keys and values.
  CHECK(away["peak_host_bytes"].get<double>()
        == doctest::Approx(32 * 16384.0 * 2 * (4096 + 4096 + 2 * 1024) / 2));
  CHECK(contains(away["options"].get<std::string>(), "--offload-activations attn_norm,core_attn"));
  CHECK(relative_width(away) > relative_width(here));
  CHECK(updated["interval"].is_null());
  CHECK(updated["memory"][0]["optimizer"] == 0);
  CHECK(updated["step_seconds"] > here["step_seconds"]);
  CHECK(updated["terms"]["optimizer"] > here["terms"]["optimizer"]);
  tool_result const text = run_tool("predict " + same + "--offload-activations full:8 --explain");
  CHECK(contains(text.out, "of 232.8 GiB of a device's share of its host"));
  CHECK(contains(text.out, "on the host"));
}

TEST_CASE("predict: weights that stay on the host are gathered over its link") {
  std::string const same =
      "--model llama3-8b --cluster 8xH100 --sequence 4096 --batch 8 --sharding full ";
  auto const here = predicted_run(same), copies = predicted_run(same + "--offload-weights copies"),
             own = predicted_run(same + "--offload-weights own");
  CHECK(contains(own["options"].get<std::string>(), "--offload-optimizer --offload-weights own"));
  double const shard = 8'030'261'248.0 / 8;
  CHECK(copies["peak_host_bytes"].get<double>() == doctest::Approx(2 * shard).epsilon(1e-4));
  CHECK(own["peak_host_bytes"].get<double>() == doctest::Approx(16 * shard).epsilon(1e-4));
  CHECK(own["peak_bytes"] < copies["peak_bytes"]);
  CHECK(copies["peak_bytes"] < here["peak_bytes"]);
  CHECK(own["terms"]["offload"] > copies["terms"]["offload"]);
  CHECK(copies["terms"]["offload"] > 0);
  CHECK(own["interval"].is_null());
  std::string const file = (scratch() / "weights_away.json").string();
  REQUIRE(run_tool("predict --as run -o " + file + " " + same + "--offload-weights own").code == 0);
  CHECK(predicted_run("--run " + file)["step_seconds"] == own["step_seconds"]);
}

TEST_CASE("predict: what cannot leave is refused") {
  std::string const run = "predict --model llama3-8b --sequence 8192 --batch 16 --cluster ";
  all_refused({
      {run + "8xMI300X --offload-optimizer", "the machine does not say what its host takes"},
      {run + "8xH100 --offload-weights own", "needs --sharding full"},
      {run + "8xH100 --sharding full --weight-ranks 4 --offload-weights copies", "--weight-ranks"},
      {run + "8xH100 --offload-activations core", "no part 'core' is known"},
      {run + "8xH100 --offload-activations core_atn", "did you mean 'core_attn'?"},
      {run + "8xH100 --offload-activations moe_act", "no layer of the model has a part 'moe_act'"},
      {run + "8xH100 --offload-activations full:33", "layers of each stage"},
      {run + "8xH100 --offload-activations core_attn --recompute full", "leave with `full`"},
  });
}

TEST_CASE("plan: the hosts are used where nothing else fits, or where asked") {
  std::string const same = small_model + "--top 3 --cluster ", few = same + small_cluster() + " ",
                    more = same + small_cluster("40") + " ";
  auto const needed = plan_with_hosts(few)["plans"][0];
  CHECK(needed["host_bytes"] > 0);
  CHECK((needed["offload"] != "none" || needed["offload_optimizer"] == true));
  tool_result const text = run_tool("plan --schedules 1f1b,interleaved " + few);
  CHECK(contains(text.out, "Nothing fits without the memory of the hosts."));
  CHECK(contains(text.out, "host GiB"));
  auto const kept = plan_with_hosts(more), asked = plan_with_hosts(more + "--offload");
  for (auto const& p : kept["plans"]) CHECK((p["host_bytes"] == 0 && p["offload"] == "none"));
  CHECK(asked["plans"][0]["seconds"] < kept["plans"][0]["seconds"]);
  CHECK(asked["plans"][0]["host_bytes"] > 0);
  // Each plan is as predict says.
  for (auto const& p : asked["plans"]) {
    auto const run = predicted_run("--model llama3-8b --cluster " + small_cluster("40") + " "
                                   + p["options"].get<std::string>());
    CHECK(run["step_seconds"].get<double>() == doctest::Approx(p["seconds"].get<double>()));
    CHECK(run["peak_host_bytes"] == p["host_bytes"]);
    CHECK(run["fits"] == true);
  }
  // A fixed choice is no slower when it is left open.
  std::string const optimizer = "--fix tensor=2,pipeline=2,sharding=optimizer";
  auto const open = plan_with_hosts(same + small_cluster("36") + " " + optimizer)["plans"][0];
  auto const fixed =
      plan_with_hosts(same + small_cluster("36") + " " + optimizer
                      + ",offload-optimizer=true,offload-activations=attn_norm")["plans"][0];
  CHECK((fixed["offload"] == "attn_norm" && fixed["offload_optimizer"] == true));
  CHECK(open["seconds"].get<double>() <= fixed["seconds"].get<double>() * (1 + 1e-9));
}

TEST_CASE("plan: a run of one's own is compared with what leaves") {
  tool_result const r = run_tool(
      "plan --schedules 1f1b --fix sharding=optimizer --top 1 " + small_model + "--cluster "
      + small_cluster() + " --explain-against '--tensor 4 --sharding optimizer --offload-optimizer'");
  CHECK(r.code == 0);
  CHECK(contains(r.out, "Yours: --sequence 8192 --batch 16 --micro-batch 1 --tensor 4"));
  CHECK(contains(r.out, "optimizer on the host, with its copies"));
  CHECK(contains(r.out, "on the host"));
}

TEST_CASE("plan: frameworks are told what leaves, and read back as the same run") {
  struct emitted_run {
    char const *fixed, *framework, *said;
  };
  for (emitted_run const& e :
       {emitted_run{"tensor=2,pipeline=2,sharding=optimizer,recompute=none,offload-activations=attn_"
                    "norm,offload-optimizer=true",
                    "megatron", "--fine-grained-activation-offloading"},
        emitted_run{"tensor=4,pipeline=1,sharding=optimizer,recompute=none,offload-activations=full:15,"
                    "offload-optimizer=true",
                    "megatron", "--cpu-offloading-num-layers 15"},
        emitted_run{"tensor=2,pipeline=2,sharding=optimizer,recompute=none,offload-activations=attn_"
                    "norm,offload-optimizer=true",
                    "megatron-bridge", "offload_modules: [attn_norm]"},
        emitted_run{"tensor=4,pipeline=1,sharding=optimizer,recompute=full,offload-optimizer=true",
                    "deepspeed", "\"offload_optimizer\""}}) {
    CAPTURE(e.framework);
    CAPTURE(e.fixed);
    std::string const framework = e.framework, file = (scratch() / ("leaves." + framework)).string();
    std::string const on = "--cluster " + small_cluster("44") + " ";
    auto const p = plan_with_hosts(small_model + "--top 1 " + on + "--fix " + e.fixed + " --emit "
                                   + framework + ":" + file)["plans"][0];
    CHECK(contains(content(file), e.said));
    std::string const kind = framework == "deepspeed" ? small_model + "--deepspeed " : "--megatron ";
    auto const read = predicted_run(on + "--stack megatron-core " + kind + file);
    CHECK(read["peak_host_bytes"].get<double>()
          == doctest::Approx(p["host_bytes"].get<double>()).epsilon(1e-9));
    CHECK(read["step_seconds"].get<double>()
          == doctest::Approx(p["seconds"].get<double>()).epsilon(1e-9));
  }
  // Frameworks say what they do not have.
  std::string const on = small_model + "--top 1 --cluster " + small_cluster("60") + " --fix ";
  auto const obstacle = [&](std::string const& fixed, char const* framework) {
    return plan_with_hosts(on + fixed)["plans"][0]["obstacles"][framework].get<std::string>();
  };
  std::string const optimizer = ",recompute=none,offload-optimizer=true";
  CHECK(
      contains(obstacle("tensor=2,pipeline=2,sharding=optimizer,offload-activations=full:8" + optimizer,
                        "megatron"),
               "beside a pipeline it sends parts of layers"));
  CHECK(contains(obstacle("tensor=4,pipeline=1,sharding=optimizer,offload-activations=full" + optimizer,
                          "megatron"),
                 "for all layers but one at most"));
  CHECK(
      contains(obstacle("tensor=4,sharding=none,offload-activations=core_attn" + optimizer, "megatron"),
               "only where data ranks share it"));
  CHECK(contains(
      obstacle("tensor=4,pipeline=1,sharding=optimizer,offload-activations=attn_proj" + optimizer,
               "megatron"),
      "only with what it takes"));
  CHECK(contains(obstacle("tensor=4,pipeline=1,sharding=full,offload-activations=core_attn" + optimizer,
                          "torchtitan"),
                 "nothing here writes how it sends activations"));
}
