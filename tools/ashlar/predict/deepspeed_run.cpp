// Reads a configuration of DeepSpeed as a run.
#include "files/json_files.hpp"
#include "predict/choices.hpp"
#include "predict/framework_files.hpp"
#include "predict/given_sizes.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tool {

namespace {

using nlohmann::json;

// These keys change nothing that is predicted; others may. In zero_optimization, likewise.
constexpr std::array silent_root_keys{"gradient_clipping",
                                      "steps_per_print",
                                      "wall_clock_breakdown",
                                      "dump_state",
                                      "scheduler",
                                      "optimizer",
                                      "prescale_gradients",
                                      "gradient_predivide_factor",
                                      "communication_data_type",
                                      "flops_profiler",
                                      "tensorboard",
                                      "wandb",
                                      "comet",
                                      "csv_monitor",
                                      "monitor_config",
                                      "comms_logger",
                                      "checkpoint",
                                      "aio",
                                      "data_types",
                                      "seed",
                                      "dataloader_drop_last",
                                      "memory_breakdown",
                                      "disable_allgather",
                                      "zero_allow_untested_optimizer",
                                      "zero_force_ds_cpu_optimizer",
                                      "load_universal_checkpoint",
                                      "use_node_local_storage",
                                      "nebula"};
constexpr std::array silent_zero_keys{"contiguous_gradients",
                                      "reduce_scatter",
                                      "allgather_partitions",
                                      "allgather_bucket_size",
                                      "load_from_fp32_weights",
                                      "elastic_checkpoint",
                                      "sub_group_size",
                                      "ignore_unused_parameters",
                                      "legacy_stage1",
                                      "round_robin_gradients",
                                      "memory_efficient_linear",
                                      "override_module_apply",
                                      "use_all_reduce_for_fetch_params",
                                      "log_trace_cache_warnings",
                                      "mics_hierarchical_params_gather",
                                      "zero_quantized_nontrainable_weights",
                                      "use_multi_rank_bucket_allreduce"};

template <class List>
bool is_among(List const& list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

bool says_off(json const& value) {
  return value.is_null() || value == false || value == 0
         || ((value.is_array() || value.is_object() || value.is_string()) && value.empty());
}

// The Trainer of transformers fills in "auto" from its own arguments (integrations/deepspeed.py), which
// the file does not say.
bool is_auto(json const& value) { return value == "auto"; }

class deepspeed_reader : json_reader {
 public:
  deepspeed_reader(json_text const& source, json const& root, beside_file const& with)
      : json_reader(source),
        root_(object(root, "configuration")),
        beside_(with.given),
        devices_(with.devices) {}

  framework_run run() {
    read_zero();
    read_ranks();
    read_batch();
    read_precision();
    read_optimizer();
    refuse_narrow_state();
    for (auto const& [key, value] : root_.items()) {
      constexpr std::array read_keys{"train_micro_batch_size_per_gpu",
                                     "train_batch_size",
                                     "bf16",
                                     "bfloat16",
                                     "fp16",
                                     "gradient_accumulation_steps",
                                     "zero_optimization",
                                     "pipeline",
                                     "msamp",
                                     "tensor_parallel",
                                     "sequence_parallel_size"};
      if (!is_among(read_keys, key) && !says_off(value)) note(key, is_among(silent_root_keys, key));
    }
    return std::move(run_);
  }

 private:
  json const* find(json const& in, char const* key) const {
    auto const at = in.find(key);
    return at == in.end() || at->is_null() ? nullptr : &*at;
  }
  json const* find_object(char const* key) const {
    json const* const at = find(root_, key);
    return at == nullptr ? nullptr : &object(*at, key);
  }
  // 0: it is not there. Numbers that are "auto" must be given beside the file.
  long long number(json const& in, char const* key, char const* option, long long least = 1) const {
    json const* const at = find(in, key);
    if (at == nullptr) return 0;
    if (!is_auto(*at)) return whole(*at, key, least, largest_framework_size);
    if (beside_.has(option)) return beside_.number(option);
    fail(*at, fmt::format("\"{}\" is \"auto\", which the Trainer fills in: give --{}", key, option));
  }
  bool flag(json const& in, char const* key) const {
    json const* const at = find(in, key);
    if (at == nullptr) return false;
    if (!at->is_boolean()) fail(*at, fmt::format("\"{}\" must be true or false", key));
    return at->get<bool>();
  }
  void set(char const* option, long long value) { run_.options[option] = fmt::format("{}", value); }
  void note(std::string const& key, bool is_silent) {
    std::string& list = is_silent ? run_.not_read : run_.not_known;
    list += (list.empty() ? "" : " ") + key;
  }

  void read_zero() {
    json const* const zero = find_object("zero_optimization");
    long long stage = 0;
    if (zero != nullptr) {
      if (json const* const at = find(*zero, "stage")) stage = whole(*at, "stage", 0, 3);
      read_away(*zero, stage);
      read_shards(*zero, stage);
      for (auto const& [key, value] : zero->items()) {
        constexpr std::array read_keys{"stage",        "offload_optimizer",       "offload_param",
                                       "cpu_offload",  "zero_hpz_partition_size", "mics_shard_size",
                                       "overlap_comm", "reduce_bucket_size"};
        bool const is_silent = is_among(silent_zero_keys, key) || key.starts_with("stage3_")
                               || key.starts_with("cpu_offload_");
        if (!is_among(read_keys, key) && !says_off(value)) note("zero_optimization." + key, is_silent);
      }
    }
    if (zero != nullptr && stage > 0 && stage < 3) read_sums(*zero);
    stage_ = stage;
    run_.options["sharding"] = word_for(sharding_choices, static_cast<ashlar::cost::sharding>(stage));
  }
  // Reads which states leave for the host.
  void read_away(json const& zero, long long stage) {
    if (flag(zero, "cpu_offload")) run_.options["offload-optimizer"] = "true";
    for (char const* away : {"offload_optimizer", "offload_param"}) {
      json const* const at = find(zero, away);
      if (at == nullptr) continue;
      json const* const where = find(object(*at, away), "device");
      std::string const device = where == nullptr ? "none" : text(*where, "device");
      if (device == "none") continue;
      bool const is_of_weights = std::string_view(away) == "offload_param";
      if (device != "cpu")
        fail(*at,
             fmt::format("\"{}\": nothing here says what it takes to move values to that device", away));
      if (is_of_weights && stage != 3) {  // which DeepSpeed passes over (runtime/engine.py)
        note("zero_optimization.offload_param", true);
        continue;
      }
      json const* const share = find(*at, "ratio");
      if (share != nullptr && ashlar::json_reader::number(*share, "ratio", 0, 1) < 1)
        fail(*share, "\"ratio\": nothing here says what a part of the optimizer on the host takes");
      if (is_of_weights)
        run_.options["offload-weights"] = "copies";
      else
        run_.options["offload-optimizer"] = "true";
    }
  }
  // Defaults of deepspeed/runtime/zero/config.py: sums come after the backward, 500 million gradients at
  // once.
  void read_sums(json const& zero) {
    bool const is_open = zero.contains("reduce_bucket_size") && is_auto(zero["reduce_bucket_size"]);
    long long const bucket = is_open || find(zero, "reduce_bucket_size") == nullptr
                                 ? 500'000'000
                                 : static_cast<long long>(ashlar::json_reader::number(
                                     zero["reduce_bucket_size"], "reduce_bucket_size", 1, 1e15));
    bool const overlaps = find(zero, "overlap_comm") != nullptr && zero["overlap_comm"] == true;
    run_.options["fact"] = fmt::format("data-overlap={},bucket={}", overlaps ? "on" : "off", bucket);
  }
  // Reads MiCS: shards over some ranks, and copies of these. ZeRO++'s hpZ: shards over all, and weights
  // once more over some.
  void read_shards(json const& zero, long long stage) {
    json const *const mics = find(zero, "mics_shard_size"), *const hpz =
                                                                find(zero, "zero_hpz_partition_size");
    long long const shards = mics == nullptr
                                 ? -1
                                 : whole(*mics, "mics_shard_size", -1, largest_framework_size),
                    weights = hpz == nullptr
                                  ? 1
                                  : whole(*hpz, "zero_hpz_partition_size", 1, largest_framework_size);
    if (shards > 0 && stage != 3) fail(*mics, "\"mics_shard_size\" needs \"stage\": 3");
    if (weights > 1 && stage != 3) fail(*hpz, "\"zero_hpz_partition_size\" needs \"stage\": 3");
    if (shards > 0 && weights > 1)
      fail(*hpz, "\"zero_hpz_partition_size\" does not go with \"mics_shard_size\"");
    if (shards > 0) {
      set("shard-ranks", shards);
      run_.options["sum-copies-once"] = "true";
    }
    if (weights > 1) set("weight-ranks", weights);
  }

  void read_ranks() {
    if (json const* const parallel = find_object("pipeline")) {
      if (long long const stages = number(*parallel, "stages", "pipeline"); stages > 0)
        set("pipeline", stages);
      if (number(*parallel, "activation_checkpoint_interval", "recompute", 0) > 0)
        run_.options["recompute"] = "full";
    }
    if (json const* const parallel = find_object("tensor_parallel"))
      if (long long const size = number(*parallel, "autotp_size", "tensor"); size > 0)
        set("tensor", size);
    if (json const* const at = find(root_, "sequence_parallel_size"))
      if (whole(*at, "sequence_parallel_size", 1, largest_framework_size) > 1)
        fail(*at, "\"sequence_parallel_size\": its exchanges of heads for sequences are not predicted");
    pipeline_ = rank_size("pipeline");
    if (pipeline_ > 1 && stage_ > 1)
      json_reader::fail(root_["zero_optimization"],
                        "\"zero_optimization\": DeepSpeed's pipelines stop at stages 2 and 3");
  }
  long long rank_size(char const* option) const {
    if (beside_.has(option)) return beside_.number(option);
    auto const at = run_.options.find(option);
    long long size = 1;
    if (at != run_.options.end()) read_number(at->second, size);
    return size;
  }

  // Two of the three say the third (DeepSpeedConfig._set_batch_related_parameters).
  void read_batch() {
    long long const below = std::max(1LL, rank_size("tensor") * pipeline_ * rank_size("context")),
                    data =
                        beside_.has("data") ? beside_.number("data") : std::max(1LL, devices_ / below);
    long long all = number(root_, "train_batch_size", "batch"),
              micro = number(root_, "train_micro_batch_size_per_gpu", "micro-batch");
    // The steps follow from the others where these are given.
    json const* const at = find(root_, "gradient_accumulation_steps");
    long long steps = at == nullptr || is_auto(*at)
                          ? 0
                          : whole(*at, "gradient_accumulation_steps", 1, largest_framework_size);
    if (at != nullptr && is_auto(*at) && !(all > 0 && micro > 0) && !beside_.has("batch"))
      fail(*at, "\"gradient_accumulation_steps\" is \"auto\", which the Trainer fills in: give --batch");
    if (beside_.has("batch")) all = beside_.number("batch"), steps = 0;
    if (beside_.has("micro-batch")) micro = beside_.number("micro-batch"), steps = 0;
    if (all == 0 && micro == 0) return;  // nothing is said
    if (all == 0) all = micro * std::max(1LL, steps) * data;
    if (micro == 0) {
      long long const together = data * std::max(1LL, steps);
      if (all % together != 0) wrong_batch(all, 0, steps, data);
      micro = all / together;
    }
    if (steps > 0 && all != micro * steps * data) wrong_batch(all, micro, steps, data);
    set("batch", all);
    set("micro-batch", micro);
  }
  [[noreturn]] void wrong_batch(long long all, long long micro, long long steps, long long data) const {
    fail(root_,
         fmt::format(
             "\"train_batch_size\" {} is not {}\"gradient_accumulation_steps\" {} x {} data ranks", all,
             micro > 0 ? fmt::format("\"train_micro_batch_size_per_gpu\" {} x ", micro)
                       : "a multiple of ",
             std::max(1LL, steps), data));
  }

  enum class state : unsigned char { off, on, open };
  state state_of(char const* key) {
    json const* const at = find_object(key);
    if (at == nullptr) return state::off;
    json const* const enabled = find(*at, "enabled");
    for (char const* more :
         {"bf16_master_weights_and_grads", "bf16_optimizer_states", "fp16_master_weights_and_grads"})
      if (flag(*at, more)) note(fmt::format("{}.{}", key, more), false);
    if (enabled != nullptr && is_auto(*enabled)) return state::open;
    return flag(*at, "enabled") ? state::on : state::off;
  }
  void read_precision() {
    state const bf16 = std::max(state_of("bf16"), state_of("bfloat16")), fp16 = state_of("fp16");
    if (beside_.has("precision")) return;
    if (bf16 == state::on && fp16 == state::on)
      fail(root_, "\"bf16\" and \"fp16\" are enabled at once, at which DeepSpeed stops");
    bool const is_said = bf16 == state::on || fp16 == state::on;
    if (!is_said && (bf16 == state::open || fp16 == state::open))
      fail(root_[bf16 == state::open ? (root_.contains("bf16") ? "bf16" : "bfloat16") : "fp16"],
           "\"enabled\" is \"auto\", which the Trainer fills in: give --precision");
    run_.options["precision"] = bf16 == state::on ? "bf16" : fp16 == state::on ? "fp16" : "fp32";
  }

  void read_optimizer() const {
    json const* const at = find_object("optimizer");
    json const* const type = at == nullptr ? nullptr : find(*at, "type");
    if (type == nullptr) return;
    std::string name = text(*type, "type");
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    constexpr std::array counted{"adam", "adamw", "muadam", "muadamw", "fusedadam", "cpuadam"};
    if (!is_among(counted, name))
      fail(*type, fmt::format("\"type\": only the state of Adam is counted here, not of {}",
                              name.substr(0, 64)));
  }

  // MS-AMP, which replaces the optimizer of DeepSpeed and its own ZeRO.
  void refuse_narrow_state() const {
    json const* const at = find_object("msamp");
    if (at != nullptr && flag(*at, "enabled"))
      fail(*at,
           "\"msamp\": products in 8 bits, and weights, gradients and state in 8 and 16, are not "
           "counted; "
           "without it, \"enabled\": false");
  }

  json const& root_;
  given_sizes beside_;
  int devices_;
  framework_run run_;
  long long stage_ = 0, pipeline_ = 1;
};

}  // namespace

framework_run read_deepspeed(std::string const& path, beside_file const& beside) {
  json_text const text = read_python_json(path);
  return deepspeed_reader(text, text.root(), beside).run();
}

framework_run read_deepspeed_values(json_text const& source, json const& values,
                                    beside_file const& beside) {
  return deepspeed_reader(source, values, beside).run();
}

}  // namespace tool
