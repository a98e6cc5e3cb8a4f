#include "predict/megatron_facts.hpp"

#include <ashlar/cost/question/stack.hpp>
#include <ashlar/interop/numbers.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tool {

namespace {

using ashlar::cost::captured;
using ashlar::cost::expert_exchange;
using ashlar::cost::expert_kernels;
using ashlar::cost::fact;
using ashlar::cost::fact_number;
using ashlar::cost::message;
using ashlar::cost::moment_held;
using ashlar::cost::question;
using ashlar::cost::sharding;
using ashlar::cost::token_dispatch;
using ashlar::cost::weights_held;

std::string dispatch_of(megatron_command& a) {
  std::string const type = a.word("moe_token_dispatcher_type", "allgather");
  if (a.has("moe_enable_deepep") || type == "flex") return "once";
  return type == "allgather" ? "all-gather" : "all-to-all";
}

// Collects facts, and knows which a file says: absent fields say nothing.
class facts_reader {
 public:
  facts_reader(megatron_command& a, facts_of_run const& run, std::vector<std::string>& notes)
      : a_(a), run_(run), notes_(notes) {}

  std::string facts() {
    read_overlap();
    read_fusions();
    if (run_.has_fp8) read_scales();
    if (run_.has_experts) read_experts();
    read_optimizer();
    return all_;
  }

 private:
  void say(char const* name, std::string const& value) {
    all_ += fmt::format("{}{}={}", all_.empty() ? "" : ",", name, value);
  }
  // Where the file says one of these, or its program has defaults of its own.
  template <class... Names>
  bool says(Names... names) {
    bool const is_said = (a_.says(names) || ...);
    return is_said || !a_.has_fields();
  }
  static char const* of_switch(bool is_on) { return is_on ? "on" : "off"; }

  void read_overlap();
  void read_fusions();
  void read_scales();
  void read_experts();
  void read_optimizer();

  megatron_command& a_;
  facts_of_run const& run_;
  std::vector<std::string>& notes_;
  std::string all_;
};

// Scopes that are not the whole iteration are parts of layers.
std::string graphs_of(megatron_command& a) {
  std::string const how = a.word("cuda_graph_impl", "none"), scope = a.word("cuda_graph_scope");
  bool const captures = how != "none" || a.has("enable_cuda_graph") || a.has("external_cuda_graph");
  if (!captures) return "none";
  return scope.find("full_iteration") != std::string::npos ? "step" : "layers";
}

// Weights are gathered only if they are shared.
bool overlaps_data(megatron_command& a, std::vector<std::string>& notes) {
  bool const sums = a.has("overlap_grad_reduce"), gathers = a.has("overlap_param_gather");
  if (!a.has("use_distributed_optimizer")) return sums;
  if (sums != gathers)
    notes.push_back(
        "gradient sums or weight gathers alone run during passes: predicted as if neither did");
  return sums && gathers;
}

void facts_reader::read_overlap() {
  if (says("tp_comm_overlap")) say("tensor-overlap", of_switch(a_.has("tp_comm_overlap")));
  bool const overlaps = overlaps_data(a_, notes_);
  if (says("overlap_grad_reduce", "overlap_param_gather")) say("data-overlap", of_switch(overlaps));
  // Not given, it is as in the fitted runs. Without overlap there is one bucket
  // (core/distributed/distributed_data_parallel.py).
  long long const bucket = a_.number("bucket_size", a_.number("ddp_bucket_size", 0));
  if (overlaps && bucket > 0) say("bucket", fmt::format("{}", bucket));
  bool const waits = a_.has("no_overlap_p2p_communication");
  if (waits && run_.has_chunks) say("transfers", "batched");
}

void facts_reader::read_fusions() {
  bool const has_gates_apart = a_.has("no_bias_swiglu_fusion") || a_.has("no_bias_gelu_fusion"),
             has_rotations_apart = a_.has("no_rope_fusion");
  if (says("cuda_graph_impl", "enable_cuda_graph")) say("graphs", graphs_of(a_));
  if (has_gates_apart || !a_.has_fields()) say("fused-activation", of_switch(!has_gates_apart));
  if (has_rotations_apart || !a_.has_fields()) say("fused-rotation", of_switch(!has_rotations_apart));
}

void facts_reader::read_scales() {
  std::string const recipe = a_.word("fp8_recipe", "delayed"), mixed = a_.word("mixed_precision");
  auto const mixes = [&](char const* part) { return mixed.find(part) != std::string::npos; };
  if (recipe == "blockwise" || mixes("subchannel"))
    say("scales", "blocks");
  else if (recipe == "tensorwise" || mixes("current"))
    say("scales", "current");
  else if (says("fp8_recipe") || mixes("delayed"))
    say("scales", "delayed");
}

void facts_reader::read_experts() {
  if (run_.dispatches && says("moe_token_dispatcher_type", "moe_enable_deepep"))
    say("expert-dispatch", dispatch_of(a_));
  if (run_.dispatches && a_.has("moe_shared_expert_overlap")) say("expert-overlap", "shared");
  if (says("moe_grouped_gemm")) say("expert-products", a_.has("moe_grouped_gemm") ? "grouped" : "loop");
  if (says("moe_permute_fusion")) say("fused-permutation", of_switch(a_.has("moe_permute_fusion")));
  std::string const factor = a_.word("moe_expert_capacity_factor");
  bool const is_padded = a_.has("moe_pad_expert_input_to_capacity");
  double capacity = 0;
  if (factor.empty()) return;
  if (!ashlar::read_number(factor, capacity))
    a_.fail(
        fmt::format("has --moe-expert-capacity-factor {}, which is no number", factor.substr(0, 64)));
  if (!(capacity > 0)) return;  // Megatron-Core then drops nothing
  say("capacity", fmt::format("{}", capacity));
  if (is_padded) say("imbalance", fmt::format("{}", std::max(1.0, capacity)));
}

// "fp32", "fp16", "bf16", "fp8", or as PyTorch writes them.
std::string bits_word(std::string const& type) {
  auto const has = [&](char const* part) { return type.find(part) != std::string::npos; };
  if (has("fp8") || has("float8") || has("uint8")) return "8-bit";
  return has("16") ? "16-bit" : "32-bit";
}

void facts_reader::read_optimizer() {
  std::string const weights = bits_word(a_.word("main_params_dtype", "fp32")),
                    mean = bits_word(a_.word("exp_avg_dtype", "fp32")),
                    square = bits_word(a_.word("exp_avg_sq_dtype", "fp32"));
  if (!a_.has("use_precision_aware_optimizer")) return;
  // store_param_remainders of core/optimizer/optimizer_config.py, which is on for weights in bf16. An
  // optimizer on the host has whole weights (core/optimizer/cpu_offloading/hybrid_optimizer.py).
  bool const keeps_rest = weights == "32-bit" && !a_.has("fp16") && !a_.has("optimizer_cpu_offload");
  say("main-weights", keeps_rest ? "rest" : weights);
  say("first-moment", mean);
  say("second-moment", square);
}

bool sums_in_16_bits(prediction const& p) {
  return stack_of(p.asked).program == ashlar::cost::program_kind::recipe;
}

bool dispatches(question const& q) { return q.model.has_experts() && q.layout.expert > 1; }

char const* word_for_dispatch(ashlar::cost::fact_values const& facts) {
  switch (facts.dispatch()) {
    case token_dispatch::once:
      return "flex";
    case token_dispatch::all_gather:
      return "allgather";
    default:
      return "alltoall";
  }
}

char const* type_word(moment_held held) {
  constexpr char const* words[] = {"fp32", "fp16", "fp8"};
  return words[static_cast<int>(held)];
}

bool groups_products(ashlar::cost::fact_values const& facts) {
  return facts.experts() != expert_kernels::loop;
}

// Whether the optimizer holds anything in fewer than 32 bits.
bool is_aware(ashlar::cost::fact_values const& facts) {
  return facts.moment_bytes() < 8 || facts.main_weights() != weights_held::bits_32;
}

// Names are those of arguments, with underscores those of fields. A flag has no value.
std::vector<named_value> values_of_both(prediction const& p) {
  question const& q = p.asked;
  ashlar::cost::fact_values const facts = stack_of(q).facts;
  std::vector<named_value> all;
  auto const add = [&](bool is_there, char const* section, char const* name, std::string value = "") {
    if (is_there) all.push_back({section, name, std::move(value)});
  };
  bool const has_experts = q.model.has_experts();
  double const capacity = facts.number(fact_number::capacity);
  add(dispatches(q) && facts.exchange() == expert_exchange::beside_shared, "model",
      "moe-shared-expert-overlap");
  add(has_experts && capacity > 0, "model", "moe-expert-capacity-factor", fmt::format("{}", capacity));
  bool const has_low_moments = facts.moment_bytes() < 8;
  add(is_aware(facts), "optimizer", "use-precision-aware-optimizer");
  add(facts.main_weights() == weights_held::bits_16, "optimizer", "main-params-dtype", "fp16");
  add(has_low_moments, "optimizer", "exp-avg-dtype",
      type_word(static_cast<moment_held>(facts.at(fact::first_moment))));
  add(has_low_moments, "optimizer", "exp-avg-sq-dtype",
      type_word(static_cast<moment_held>(facts.at(fact::second_moment))));
  return all;
}

}  // namespace

std::string program_of_megatron(megatron_command& a) {
  return a.has("grad_reduce_in_bf16") || a.has_fields() ? "megatron-bridge" : "megatron-core";
}

std::string megatron_facts(megatron_command& a, facts_of_run const& run,
                           std::vector<std::string>& notes) {
  return facts_reader(a, run, notes).facts();
}

std::vector<named_value> arguments_of_facts(prediction const& p) {
  question const& q = p.asked;
  ashlar::cost::fact_values const facts = stack_of(q).facts;
  std::vector<named_value> all;
  auto const add = [&](bool is_there, char const* name, char const* value = "") {
    if (is_there) all.push_back({"", name, value});
  };
  bool const is_shared = q.layout.sharding != sharding::none,
             is_whole = facts.graphs() == captured::step;
  add(facts.has(fact::tensor_overlap), "tp-comm-overlap");
  add(facts.has(fact::data_overlap), "overlap-grad-reduce");
  add(facts.has(fact::data_overlap) && is_shared, "overlap-param-gather");
  add(sums_in_16_bits(p), "grad-reduce-in-bf16");
  add(dispatches(q), "moe-token-dispatcher-type", word_for_dispatch(facts));
  add(facts.graphs() == captured::layers, "cuda-graph-impl", "transformer_engine");
  add(is_whole, "cuda-graph-impl", "local");
  add(is_whole, "cuda-graph-scope", "full_iteration");
  add(!facts.has(fact::fused_activation), "no-bias-swiglu-fusion");
  add(!facts.has(fact::fused_rotation), "no-rope-fusion");
  add(q.model.has_experts() && groups_products(facts), "moe-grouped-gemm");
  add(q.model.has_experts() && facts.has(fact::fused_permutation), "moe-permute-fusion");
  for (named_value const& each : values_of_both(p)) all.push_back({"", each.name, each.value});
  if (double const bucket = facts.number(fact_number::bucket); bucket > 0)
    all.push_back({"", "ddp-bucket-size", fmt::format("{:.0f}", bucket)});
  add(q.layout.chunks > 1 && facts.transfers() == message::batched, "no-overlap-p2p-communication");
  return all;
}

std::vector<named_value> fields_of_facts(prediction const& p) {
  question const& q = p.asked;
  ashlar::cost::fact_values const facts = stack_of(q).facts;
  auto const word = [](bool is_true) { return is_true ? "true" : "false"; };
  bool const overlaps = facts.has(fact::data_overlap), is_shared = q.layout.sharding != sharding::none;
  std::vector<named_value> all{
      {"comm_overlap", "tp_comm_overlap", word(facts.has(fact::tensor_overlap))},
      {"ddp", "overlap_grad_reduce", word(overlaps)},
      {"ddp", "overlap_param_gather", word(overlaps && is_shared)},
      {"ddp", "grad_reduce_in_fp32", word(!sums_in_16_bits(p))},
      {"model", "bias_activation_fusion", word(facts.has(fact::fused_activation))},
      {"model", "apply_rope_fusion", word(facts.has(fact::fused_rotation))}};
  if (dispatches(q)) all.push_back({"model", "moe_token_dispatcher_type", word_for_dispatch(facts)});
  if (q.model.has_experts()) {
    all.push_back({"model", "moe_grouped_gemm", word(groups_products(facts))});
    all.push_back({"model", "moe_permute_fusion", word(facts.has(fact::fused_permutation))});
  }
  constexpr char const* graphs[] = {"none", "transformer_engine", "local"};
  all.push_back({"model", "cuda_graph_impl", graphs[static_cast<int>(facts.graphs())]});
  if (facts.graphs() == captured::step) all.push_back({"model", "cuda_graph_scope", "full_iteration"});
  if (double const bucket = facts.number(fact_number::bucket); bucket > 0)
    all.push_back({"ddp", "bucket_size", fmt::format("{:.0f}", bucket)});
  for (named_value const& each : values_of_both(p)) {
    std::string field = each.name;
    std::replace(field.begin(), field.end(), '-', '_');
    all.push_back({each.section, field, each.value.empty() ? "true" : each.value});
  }
  return all;
}

std::string done_in_place_of_facts(prediction const& p, bool as_fields) {
  question const& q = p.asked;
  question usual = q;
  usual.program.facts = {};
  ashlar::cost::fact_values const facts = stack_of(q).facts;
  if (!facts.has(fact::fused_norm)) return "its norms are one kernel each";
  bool const waits = q.layout.chunks > 1 && facts.transfers() == message::batched && !as_fields;
  if (q.layout.pipeline > 1 && facts.transfers() != stack_of(usual).facts.transfers() && !waits)
    return "messages between its stages go at other times";
  if (facts.number(fact_number::bucket) > 0 && !facts.has(fact::data_overlap))
    return "without overlap it sums all gradients at once";
  unsigned char const products = q.program.facts.of[static_cast<std::size_t>(fact::expert_products)];
  if (q.model.has_experts() && products == static_cast<unsigned char>(expert_kernels::single))
    return "it groups the products of experts";
  bool const keeps_rest =
      q.program.format != ashlar::cost::number_format::fp16 && !q.layout.offload.optimizer;
  for (fact moment : {fact::first_moment, fact::second_moment})
    if (facts.at(moment) == static_cast<unsigned char>(moment_held::bits_4))
      return "its moments have 8 bits or more";
  weights_held const held = facts.main_weights();
  if (is_aware(facts) && held != weights_held::bits_16 && (held == weights_held::rest) != keeps_rest)
    return keeps_rest ? "beside moments in fewer bits it holds half of its 32-bit weights"
                      : "it holds all of its 32-bit weights";
  return {};
}

}  // namespace tool
