// Traces of PyTorch's profiler.
#include <ashlar/interop/json_profile.hpp>
// The header above comes first: it needs nothing before it.
#include "refused_text.hpp"
#include <ashlar/interop/json_costs.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace ashlar;

namespace {

// Traces made by data/profile/make.py: ZB-H1, two ranks, four micro-batches, three steps; two on a GPU.
std::vector<json_text> made_by_pytorch(std::string const& folder = "/profile/") {
  std::vector<json_text> all;
  for (char const* const name : {"rank0.json", "rank1.json"}) {
    std::ifstream file(ASHLAR_TEST_DATA + folder + name);
    all.push_back(parse_json({std::istreambuf_iterator<char>(file), {}}, name));
  }
  return all;
}

std::string on_gpu(std::string const& also) {
  return R"({"distributedInfo": {"rank": 3}, "baseTimeNanoseconds": 5000, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "PP:2F0", "ts": 10, "dur": 20},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 7, "ts": 12, "dur": 1, "args": {"correlation": 1}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 7, "ts": 14, "dur": 1, "args": {"correlation": 2}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 7, "ts": 31, "dur": 1, "args": {"correlation": 3}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "tid": 9, "ts": 40, "dur": 5, "args": {"correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "tid": 8, "ts": 20, "dur": 50, "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "later", "tid": 9, "ts": 50, "dur": 5, "args": {"correlation": 3}})"
         + also + "]}";
}

}  // namespace

TEST_CASE("of a trace that PyTorch's runtime has made, passes, their steps and ranks are read") {
  std::vector<profiled_rank> const ranks = read_json_profiles(made_by_pytorch());
  REQUIRE(ranks.size() == 2);
  CHECK(whole_steps(ranks) == 3);
  for (profiled_rank const& one : ranks) {
    CHECK(!one.on_gpu);
    CHECK(one.knows_waits);
    CHECK(one.passes.size() == 3 * 3 * 4);
    for (profiled_pass const& p : one.passes) {
      CHECK(p.what.stage == one.rank);
      CHECK(p.begin <= p.start);
      CHECK(p.start <= p.end);
    }
  }
}

TEST_CASE("costs of a trace can be read as those that were measured otherwise") {
  json_profiled_costs const made = costs_of_profiles(made_by_pytorch());
  json_costs const read = read_json_costs(made.costs.dump());
  CHECK(read.cost.passes.stages() == 2);
  // The second stage has twice the layers; the first gives no gradient of its input.
  stage_cost const first = read.cost.passes.of(0, 0), second = read.cost.passes.of(1, 0);
  CHECK(second.forward > first.forward);
  CHECK(first.backward_weight > 5 * first.backward_input);
  CHECK(made.costs["costs"]["stages"][1]["forward"]["samples"] == 12);
  CHECK(read.cost.on.links.inside.latency > 0);
  // Both ran on one host.
  auto const ahead = made.costs["costs"]["measured"]["clocks_ahead_ns"].get<std::vector<double>>();
  CHECK(ahead == std::vector<double>{0, 0});
}

TEST_CASE("a typical step of a trace is a timeline") {
  json_trace const step = timeline_of_profiles(made_by_pytorch());
  CHECK(step.device_count == 2);
  CHECK(step.events.size() == 2 * 3 * 4);
  for (trace_event const& e : step.events) {
    CHECK(e.start >= 0);
    REQUIRE(e.what);
    CHECK(e.device == e.what->stage);
  }
}

TEST_CASE("on a GPU, a pass takes from its first kernel to its last, and communication does not count") {
  profiled_rank const one = read_json_profile(parse_json(on_gpu("")));
  CHECK(one.rank == 3);
  CHECK(one.on_gpu);
  REQUIRE(one.passes.size() == 1);
  CHECK(one.passes[0] == profiled_pass{{pass_kind::forward, 2, 0}, 0, 15'000, 45'000, 50'000});
}

TEST_CASE("on a GPU, a pass without kernels is where the pass before it ended") {
  profiled_rank const one = read_json_profile(parse_json(
      on_gpu(R"(, {"ph": "X", "cat": "user_annotation", "name": "PP:2I0", "ts": 60, "dur": 20})")));
  REQUIRE(one.passes.size() == 2);
  CHECK(one.passes[1] == profiled_pass{{pass_kind::backward_input, 2, 0}, 0, 65'000, 50'000, 50'000});
}

// The first stage has no gradient of an input to compute: its weight passes wait for messages.
TEST_CASE("of a trace of two ranks on a GPU, messages come after they were sent") {
  std::vector<profiled_rank> const ranks = read_json_profiles(made_by_pytorch("/profile_gpu/"));
  CHECK(whole_steps(ranks) == 2);
  for (profiled_rank const& one : ranks) CHECK(one.on_gpu);
  json_profiled_costs const made = costs_of_profiles(made_by_pytorch("/profile_gpu/"));
  for (std::string const& sentence : made.warnings)
    CHECK(sentence.find("before it was sent") == std::string::npos);
  CHECK(!timeline_of_profiles(made_by_pytorch("/profile_gpu/")).events.empty());
}

TEST_CASE("without operators, annotations count") {
  json_text const plain =
      parse_json(R"([{"ph": "X", "cat": "user_annotation", "name": "PP:0F0", "ts": 1, "dur": 2}])");
  CHECK(is_json_profile(plain));
  profiled_rank const one = read_json_profile(plain, 5);
  CHECK(one.rank == 5);
  CHECK(!one.knows_waits);
  CHECK(one.passes[0].start == 1'000);
  CHECK(costs_of_profiles({plain}).warnings.front().find("were not recorded") != std::string::npos);
}

TEST_CASE("what is no such trace is refused with its place") {
  CHECK(!is_json_profile(parse_json(R"({"traceEvents": [{"ph": "X", "name": "0F0"}]})")));
  CHECK(!is_json_profile(parse_json("{}")));
  auto const refused = [](std::string const& text, char const* part) {
    refused_text([&] { read_json_profile(parse_json(text, "t.json")); }, part);
  };
  refused(R"({"traceEvents": []})", "'t.json', line 1, column 17: there is no annotation of a pass");
  refused(R"({"traceEvents": 1})", "must be a list");
  refused(on_gpu(R"(, {"ph": "X", "cat": "user_annotation", "name": "PP:2F1", "ts": "now", "dur": 1})"),
          "\"ts\" must be a number");
  refused(
      on_gpu(R"(, {"ph": "X", "cat": "user_annotation", "name": "PP:2000000000F1", "ts": 1, "dur": 1})"),
      "no such stages");
  refused_text(
      [] {
        read_json_profiles({parse_json(on_gpu(""), "a"), parse_json(on_gpu(""), "b")});
      },
      "rank 3 has another trace already");
}
