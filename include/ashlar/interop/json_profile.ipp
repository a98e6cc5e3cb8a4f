// Definitions of json_profile.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/core/sort.hpp>
#include <ashlar/interop/input_limits.hpp>
#include <ashlar/interop/json_costs.hpp>
#include <ashlar/interop/json_profile.hpp>
#include <ashlar/interop/json_reader.hpp>
#include <ashlar/interop/pass_token.hpp>
#include <ashlar/program/names.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace ashlar::json_detail {

using nlohmann::json;

inline constexpr std::string_view pipeline_prefix = "PP:";

ASHLAR_INLINE bool is_of(json const& event, char const* key, char const* word) {
  auto const found = event.find(key);
  return found != event.end() && found->is_string() && found->get_ref<std::string const&>() == word;
}

ASHLAR_INLINE std::optional<pass> annotated_pass(json const& event) {
  auto const name = event.find("name");
  if (name == event.end() || !name->is_string()) return std::nullopt;
  std::string_view const text = name->get_ref<std::string const&>();
  if (!text.starts_with(pipeline_prefix)) return std::nullopt;
  return read_pass(text.substr(pipeline_prefix.size()));
}

ASHLAR_INLINE json const& events_of(json_text const& source) {
  json_reader const reader(source);
  json const& all = source.root().is_object() ? reader.at(source.root(), "traceEvents") : source.root();
  return reader.list(all, "traceEvents");
}

class profile_reader : json_reader {
 public:
  profile_reader(json_text const& source, int rank) : json_reader(source), rank_(rank) {}

  profiled_rank read() {
    if (source_.root().is_object()) {
      if (auto const info = source_.root().find("distributedInfo"); info != source_.root().end())
        if (info->is_object() && info->contains("rank"))
          rank_ = static_cast<int>(whole((*info)["rank"], "rank", 0, input_limits::cluster_devices));
      if (auto const base = source_.root().find("baseTimeNanoseconds"); base != source_.root().end())
        base_ = whole(*base, "baseTimeNanoseconds", 0, most_ns);
    }
    std::string host;
    if (source_.root().is_object() && source_.root().contains("host_name"))
      host = text(source_.root()["host_name"], "host_name");
    json const& all = events_of(source_);
    for (json const& event : all) take(event);
    if (passes_.empty()) fail(all, "there is no annotation of a pass, like \"PP:2F0\"");
    bool const on_gpu = !kernels_.empty();
    std::vector<interval> inside;
    if (on_gpu) {
      for (auto const& [correlation, lasted] : kernels_)
        if (auto const at = launches_.find(correlation); at != launches_.end())
          inside.push_back({at->second, lasted.start, lasted.end});
    } else {
      inside = std::move(operators_);
    }
    bool const knows_waits = !inside.empty();
    if (!knows_waits)
      for (profiled_pass& p : passes_) p.start = p.begin;
    return {.rank = rank_,
            .on_gpu = on_gpu,
            .knows_waits = knows_waits,
            .host = std::move(host),
            .passes = placed(std::move(inside))};
  }

 private:
  static constexpr int most_stages = 16 * static_cast<int>(input_limits::devices);
  static constexpr long long most_ns = 4'000'000'000'000'000'000;
  struct interval {
    std::int64_t begun = 0;  // on the annotating thread
    std::int64_t start = 0, end = 0;
  };

  interval time_of(json const& event) const {
    constexpr double most_us = 1e15;  // thirty years
    double const start = number(at(event, "ts"), "ts", -most_us, most_us),
                 length = number(at(event, "dur"), "dur", 0, most_us);
    std::int64_t const from = base_ + std::llround(1e3 * start);
    return {from, from, from + std::llround(1e3 * length)};
  }
  std::optional<std::int64_t> correlation_of(json const& event) const {
    auto const args = event.find("args");
    if (args == event.end() || !args->is_object()) return std::nullopt;
    auto const found = args->find("correlation");
    if (found == args->end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
  }
  // Whether it is communication, which waits for other ranks.
  static bool communicates(json const& event) {
    auto const name = event.find("name");
    if (name == event.end() || !name->is_string()) return false;
    std::string_view const text = name->get_ref<std::string const&>();
    for (std::string_view const one :
         {"c10d::", "nccl", "gloo:", "record_param_comms", "_c10d", "ncclDevKernel", "ncclKernel"})
      if (text.starts_with(one)) return true;
    return false;
  }
  void take(json const& event) {
    if (!event.is_object() || !is_of(event, "ph", "X") || !event.contains("cat")) return;
    if (is_of(event, "cat", "user_annotation")) {
      if (std::optional<pass> const what = annotated_pass(event)) {
        must_be_small(event, *what);
        interval const t = time_of(event);
        passes_.push_back({.what = *what, .begin = t.start, .start = t.end, .end = t.end});
      }
    } else if (is_of(event, "cat", "cpu_op")) {
      if (!communicates(event)) operators_.push_back(time_of(event));
    } else if (is_of(event, "cat", "cuda_runtime") || is_of(event, "cat", "cuda_driver")) {
      if (auto const id = correlation_of(event)) launches_[*id] = time_of(event).start;
    } else if (is_of(event, "cat", "kernel") || is_of(event, "cat", "gpu_memcpy")
               || is_of(event, "cat", "gpu_memset")) {
      if (auto const id = correlation_of(event); id && !communicates(event))
        kernels_.push_back({*id, time_of(event)});
    }
  }
  void must_be_small(json const& event, pass what) const {
    if (what.stage >= most_stages || what.micro_batch >= input_limits::micro_batches)
      fail(event, "\"name\": there are no such stages or micro-batches");
  }

  // The passes in their order, each with the intervals that began in it.
  std::vector<profiled_pass> placed(std::vector<interval> inside) {
    auto const earlier = [](auto const& a, auto const& b) { return a.begin < b.begin; };
    merge_sort(passes_, earlier);
    std::sort(inside.begin(), inside.end(),
              [](interval const& a, interval const& b) { return a.begun < b.begun; });
    std::map<std::pair<int, std::pair<pass_kind, int>>, int> steps;  // by micro-batch, kind and stage
    auto next = inside.begin();
    profiled_pass const* before = nullptr;
    for (profiled_pass& p : passes_) {
      p.step = steps[{p.what.micro_batch, {p.what.kind, p.what.stage}}]++;
      std::int64_t const end_of_annotation = p.end;
      while (next != inside.end() && next->begun < p.begin) ++next;
      bool first = true;
      for (; next != inside.end() && next->begun < end_of_annotation; ++next) {
        p.start = first ? next->start : std::min(p.start, next->start);
        if (!kernels_.empty()) p.end = first ? next->end : std::max(p.end, next->end);
        first = false;
      }
      if (first && !kernels_.empty() && before != nullptr)
        p.start = p.end = before->end;  // its annotation is the host's
      before = &p;
    }
    return std::move(passes_);
  }

  int rank_ = 0;
  std::int64_t base_ = 0;
  std::vector<profiled_pass> passes_ = {};
  std::vector<interval> operators_ = {};
  std::map<std::int64_t, std::int64_t> launches_ = {};  // launch time by correlation
  std::vector<std::pair<std::int64_t, interval>> kernels_ = {};
};

}  // namespace ashlar::json_detail

namespace ashlar {

ASHLAR_INLINE bool is_json_profile(json_text const& source) {
  auto const& root = source.root();
  if (!root.is_array() && !(root.is_object() && root.contains("traceEvents"))) return false;
  auto const& all = root.is_array() ? root : root["traceEvents"];
  return all.is_array() && std::any_of(all.begin(), all.end(), [](nlohmann::json const& event) {
           return event.is_object() && json_detail::annotated_pass(event);
         });
}

ASHLAR_INLINE profiled_rank read_json_profile(json_text const& source, int rank) {
  return json_detail::profile_reader(source, rank).read();
}

ASHLAR_INLINE std::vector<profiled_rank> read_json_profiles(std::vector<json_text> const& sources) {
  std::vector<profiled_rank> all;
  std::set<int> known;
  for (json_text const& source : sources) {
    all.push_back(read_json_profile(source, static_cast<int>(all.size())));
    if (!known.insert(all.back().rank).second)
      json_reader(source).fail(source.root(), "rank " + std::to_string(all.back().rank)
                                                  + " has another trace already: give one of each rank");
  }
  return all;
}

ASHLAR_INLINE json_profiled_costs costs_of_profiles(std::vector<json_text> const& sources) {
  profiled_costs made = costs_of(read_json_profiles(sources));
  auto files = nlohmann::ordered_json::array();
  for (json_text const& source : sources) files.push_back(source.path);
  nlohmann::ordered_json about{{"by", "PyTorch's profiler"}, {"files", std::move(files)}};
  about["clocks_ahead_ns"] = made.clocks_ahead_ns;
  about["warnings"] = made.warnings;
  return {ashlar::to_json(made.measured, std::move(about)), std::move(made.warnings)};
}

ASHLAR_INLINE json_trace timeline_of_profiles(std::vector<json_text> const& sources) {
  std::vector<profiled_rank> const ranks = typical_step(read_json_profiles(sources));
  if (ranks.empty())
    throw input_error((sources.empty() ? std::string() : sources.front().path + ": ")
                      + "the profile begins or ends within a step: profile whole steps");
  json_trace made{.device_count = static_cast<int>(ranks.size())};
  for (profiled_rank const& one : ranks)
    for (profiled_pass const& p : one.passes)
      made.events.push_back({.device = one.rank,
                             .name = to_string(p.what),
                             .start = p.start,
                             .end = p.end,
                             .what = p.what});
  return made;
}

}  // namespace ashlar
