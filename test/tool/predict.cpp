// `ashlar predict` from end to end.
#include "tool/predicting.hpp"
#include "tool/run_tool.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

namespace {

// A file of a cluster NODESxDEVICESxKIND. If the devices lack the format, the file says that they have
// it, at the rate of the nearest wider one.
std::string cluster_with(std::string const& cluster, std::string const& format) {
  std::size_t const x = cluster.find('x'), y = cluster.find('x', x + 1);
  std::string file = cluster.substr(y + 1);
  for (char& c : file) c = c == '-' ? '_' : static_cast<char>(std::tolower(c));
  auto sheet = nlohmann::json::parse(
      content(std::string(ASHLAR_TEST_DATA) + "/../../tools/ashlar/predict/machines/" + file + ".json"));
  sheet["nodes"] = std::stoi(cluster);
  sheet["devices_per_node"] = std::stoi(cluster.substr(x + 1));
  nlohmann::json& peaks = sheet["peak_flops"];
  auto const wide = [&](char const* narrow) { return peaks.value(narrow, peaks["fp16"]); };
  if (format == "bf16" && !peaks.contains("bf16")) peaks["bf16"] = wide("bf16");
  bool const scales = sheet["generation"].get<std::string>().starts_with("blackwell");
  if ((format == "mxfp8" && !scales) || format == "fp8") peaks["fp8"] = wide("fp8");
  if ((format == "mxfp8" && !scales) || format == "nvfp4")
    peaks["fp4"] = peaks.value("fp4", wide("fp8"));
  return scratch_file("cluster.json", sheet.dump());
}

bool is_near(nlohmann::json const& a, nlohmann::json const& b) {
  return std::fabs(a.get<double>() - b.get<double>()) <= 1e-9 * std::fabs(b.get<double>());
}

bool is_blackwell(nlohmann::json const& run) {
  std::string const cluster = run["cluster"];
  return contains(cluster, "B200") || contains(cluster, "B300");
}

// The step of a run if its casts moved as many bytes as there, 8 an element and 10 to NVFP4, and if it
// moved no other bytes: the longest that it may take there. 0 for formats without casts.
double longest_with_their_casts(nlohmann::json const& run, std::string const& format) {
  double const theirs = format == "nvfp4" ? 10 : 8, ours = format == "nvfp4"   ? 5.125
                                                           : format == "mxfp8" ? 4.0625
                                                                               : 6;
  if (format != "fp8" && format != "mxfp8" && format != "nvfp4") return 0;
  double passes = 0;
  for (auto const& [term, seconds] : run["terms"].items())
    if (term != "bubble" && term != "stragglers" && term != "data" && term != "optimizer"
        && term != "update")
      passes += seconds.get<double>();
  double const step = run["step_seconds"], bytes = run["terms"]["bytes"];
  return step * (1 + (theirs / ours - 1) * bytes / passes);
}

// The peak of a run, of all devices or the last, if logits took `logits` times the bytes.
double peak_with(nlohmann::json const& run, double logits, bool last) {
  double most = 0;
  for (auto const& device : run["memory"]) {
    double all = 0;
    for (auto const& [what, bytes] : device.items())
      if (what != "host") all += bytes.get<double>() * (what == "logits" ? logits : 1);
    most = last ? all : std::max(most, all);
  }
  return most;
}

}  // namespace

TEST_CASE("predict: figures of another program of the same formulas") {
  std::string const folder = std::string(ASHLAR_TEST_DATA) + "/predict/";
  auto const constants = nlohmann::json::parse(content(folder + "constants.json"));
  // Its constants for a run, some of which stand for others, too. Blackwell's clocks have no limit
  // there.
  auto const constants_for = [&](nlohmann::json const& run) {
    auto all = constants;
    auto const replace = [&](char const* constant, char const* as) {
      all["constants"][constant]["value"] = all["constants"][as]["value"];
    };
    if (run.contains("hides_exchanges")) replace("tensor_exposed", "tensor_exposed.tuned");
    if (run.contains("fewer_rotations")) replace("attention.hopper.flash", "attention.hopper.triton");
    if (is_blackwell(run)) all["constants"]["power"]["value"] = 1e-12;
    return scratch_file("constants.json", all.dump());
  };
  // One program there does what Megatron-Bridge's does.
  std::string const as_there = " --stack megatron-bridge --fact graphs=none,expert-dispatch=all-to-all";
  auto const all = nlohmann::json::parse(content(folder + "reference.json"));
  for (nlohmann::json const& each : all) {
    std::string line = "--constants " + constants_for(each) + " --model "
                       + scratch_file("model.json", each["model"].dump()) + " --cluster "
                       + cluster_with(each["cluster"], each["options"]["precision"]);
    for (auto const& [option, value] : each["options"].items())
      line += " --" + option + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    nlohmann::json found = predicted_run(line);
    std::string const program = found["program"];
    // Plain programs have neither virtual stages nor context ranks there.
    bool const is_plain_there =
        each["options"].value("chunks", 1) * each["options"].value("context", 1) == 1;
    if (program == "megatron-core" || program == "megatron-bridge"
        || (program == "plain" && !is_plain_there))
      found = predicted_run(line + as_there);
    else if (is_blackwell(each))  // all programs overlap exchanges of tensor ranks on it there
      found = predicted_run(line + " --fact tensor-overlap=on");
    double const step = found["step_seconds"], other = each["step_seconds"];
    std::string const format = each["options"]["precision"];
    double const longest = longest_with_their_casts(found, format);
    if (each.contains("uneven")) {
      CHECK(std::max(step, longest) > 0.99 * other);
      CHECK(step < 1.25 * other);
    } else if (each.contains("fewer_rotations")) {
      CHECK((step > other && step < 1.03 * other));  // sums overlap there, too
    } else if (longest > 0) {
      CHECK((step <= 1.000000001 * other && longest >= other));  // casts move fewer bytes than there
    } else {
      CHECK(is_near(step, other));
    }
    // There, fully sharded programs hold 6.5 bytes of a logit if layers run again, not 4.
    bool const holds_more = program == "fsdp" && each["options"].value("recompute", "none") != "none";
    double const logits = holds_more ? 6.5 / 4 : 1;
    CHECK(is_near(peak_with(found, logits, false), each["peak_bytes"]));
    CHECK(is_near(peak_with(found, logits, true), each["peak_bytes_last"]));
    CHECK(found["fits"] == each["fits"]);
    CHECK(each["kind"].get<std::string>().starts_with(found["kind_of_run"].get<std::string>() + ", "));
  }
}

TEST_CASE("predict: terms add up to the step, parts to the peak") {
  auto const found = predicted_run(
      "--model llama3-8b --tensor 2 --pipeline 2 --chunks 4 --sharding optimizer" + some_run);
  double sum = 0, most = 0;
  for (auto const& [name, seconds] : found["terms"].items()) sum += seconds.get<double>();
  CHECK(sum == doctest::Approx(found["step_seconds"].get<double>()));
  for (nlohmann::json const& device : found["memory"]) {
    double all = 0;
    for (auto const& [name, bytes] : device.items()) all += bytes.get<double>();
    most = std::fmax(most, all);
  }
  CHECK(most == doctest::Approx(found["peak_bytes"].get<double>()));
  CHECK(found["parameters"] == 8030261248.0);
  CHECK(found["interval"]["low"] <= found["step_seconds"]);
  CHECK(found["interval"]["high"] >= found["step_seconds"]);
}

TEST_CASE("predict: names are found regardless of case, and a cluster may be a file") {
  auto const named = predicted_run("--model llama3-8b" + some_run);
  CHECK(predicted_run(
            "--model Llama3-8B --cluster 2x8xh100-sxm --sequence 4096 --batch 64")["step_seconds"]
        == named["step_seconds"]);
  CHECK(predicted_run("--model 8B" + some_run)["parameters"] == named["parameters"]);
  auto const mine = scratch_file(
      "mine.json",
      R"({"nodes":2,"generation":"hopper","devices_per_node":8,"domain":8,"peak_flops":{"fp32":67e12,"bf16":989e12},)"
      R"("memory_bytes":80e9,"memory_bandwidth":3.35e12,"link_inside":450e9,"link_outside":50e9,"units":132,)"
      R"("exponentials":3.9e12,"power_watts":700})");
  CHECK(predicted_run("--model 8B --sequence 4096 --batch 64 --cluster " + mine)["step_seconds"]
        == doctest::Approx(named["step_seconds"].get<double>()).epsilon(0.01));
}

TEST_CASE("predict: text says what people ask") {
  tool_result const r = run_tool("predict --model llama3-8b --sharding full" + some_run);
  CHECK(r.code == 0);
  for (char const* each : {"8.030 billion parameters", "nine of ten runs of sources never seen",
                           "tokens/s", "TFLOP/s a device", "It fits", "where the time goes", "products",
                           "activations", "What to change first"})
    CHECK(contains(r.out, each));
  CHECK(contains(run_tool("predict --model llama3-8b --explain" + some_run).out, "= 2 k (m n"));
  CHECK(contains(run_tool("predict --model llama3-70b" + some_run).out, "It does not fit"));
}

TEST_CASE("predict: the passes of a step as a picture, a page and a trace") {
  std::string const run =
      "predict --model 8B --cluster 2x8xH100 --sequence 4096 --batch 32 --pipeline 4 --chunks 2 "
      "--tensor 2 --as ";
  CHECK(contains(run_tool(run + "svg").out, "<svg"));
  std::string const page = run_tool(run + "html").out;
  CHECK(contains(page, "<svg"));
  CHECK(contains(page, "nine of ten runs of sources"));
  auto const trace = nlohmann::json::parse(run_tool(run + "trace").out);
  double last = 0, step = predicted_run(
                       "--model 8B --cluster 2x8xH100 --sequence 4096 --batch 32 --pipeline 4 "
                       "--chunks 2 --tensor 2")["step_seconds"];
  for (nlohmann::json const& event : trace["traceEvents"])
    if (event.value("ph", "") == "X")
      last = std::fmax(last, event["ts"].get<double>() + event["dur"].get<double>());
  CHECK(last * 1e-6 < step);  // without what a step has once
  CHECK(last * 1e-6 > 0.8 * step);
}
