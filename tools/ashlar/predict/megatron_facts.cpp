#include "predict/megatron_facts.hpp"

#include <ashlar/cost/question/stack.hpp>

#include <fmt/core.h>

namespace tool {

namespace {

using ashlar::cost::captured;
using ashlar::cost::fact;
using ashlar::cost::question;
using ashlar::cost::sharding;
using ashlar::cost::token_dispatch;

std::string dispatch_of(megatron_command& a, std::vector<std::string>& notes) {
  std::string const type = a.word("moe_token_dispatcher_type", "allgather");
  if (a.has("moe_enable_deepep") || type == "flex") return "once";
  if (type == "allgather")
    notes.push_back(
        "all ranks gather the tokens of experts (--moe-token-dispatcher-type allgather, the default of "
        "Megatron-LM): predicted as alltoall, which moves less");
  return "all-to-all";
}

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

bool sums_in_16_bits(prediction const& p) {
  return stack_of(p.asked).program == ashlar::cost::program_kind::recipe;
}

bool dispatches(question const& q) { return q.model.has_experts() && q.layout.expert > 1; }

char const* word_for_dispatch(ashlar::cost::fact_values const& facts) {
  return facts.dispatch() == token_dispatch::once ? "flex" : "alltoall";
}

}  // namespace

std::string program_of_megatron(megatron_command& a) {
  return a.has("grad_reduce_in_bf16") || a.has_fields() ? "megatron-bridge" : "megatron-core";
}

std::string megatron_facts(megatron_command& a, bool dispatches, std::vector<std::string>& notes) {
  std::string all;
  auto const say = [&](char const* name, bool is_said, std::string const& value) {
    if (is_said || !a.has_fields()) all += fmt::format("{}{}={}", all.empty() ? "" : ",", name, value);
  };
  auto const of_switch = [](bool is_on) { return is_on ? "on" : "off"; };
  bool const has_gates_apart = a.has("no_bias_swiglu_fusion") || a.has("no_bias_gelu_fusion"),
             has_rotations_apart = a.has("no_rope_fusion");
  say("tensor-overlap", a.says("tp_comm_overlap"), of_switch(a.has("tp_comm_overlap")));
  say("data-overlap", a.says("overlap_grad_reduce") || a.says("overlap_param_gather"),
      of_switch(overlaps_data(a, notes)));
  say("graphs", a.says("cuda_graph_impl") || a.says("enable_cuda_graph"), graphs_of(a));
  say("fused-activation", has_gates_apart, of_switch(!has_gates_apart));
  say("fused-rotation", has_rotations_apart, of_switch(!has_rotations_apart));
  bool const says_dispatch = a.says("moe_token_dispatcher_type") || a.says("moe_enable_deepep");
  if (dispatches && (says_dispatch || !a.has_fields()))
    say("expert-dispatch", true, dispatch_of(a, notes));
  return all;
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
  constexpr char const* graphs[] = {"none", "transformer_engine", "local"};
  all.push_back({"model", "cuda_graph_impl", graphs[static_cast<int>(facts.graphs())]});
  if (facts.graphs() == captured::step) all.push_back({"model", "cuda_graph_scope", "full_iteration"});
  return all;
}

}  // namespace tool
