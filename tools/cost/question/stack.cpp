#include <ashlar/cost/question/stack.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>

namespace ashlar::cost {

namespace stack_detail {

// A property of the run that suggests a program. None is of the order of passes: schedules are compared
// in one program.
using trait = bool (*)(question const&);

inline bool is_on_ampere(question const& q) { return newest_of(q.cluster).like() == family::ampere; }
inline bool is_on_hopper(question const& q) { return newest_of(q.cluster).like() == family::hopper; }
inline bool shards_nothing(question const& q) { return q.layout.sharding == sharding::none; }
inline bool has_fp16(question const& q) { return q.program.format == number_format::fp16; }
inline bool has_low_precision(question const& q) { return is_low(q.program.format); }
inline bool has_16_bits_or_more(question const& q) { return !is_low(q.program.format); }
inline bool has_nodes(question const& q) { return has_several_nodes(q.cluster); }
inline bool recomputes_as_of_old(question const& q) {
  return q.layout.recompute == recomputation::attention || q.layout.recompute == recomputation::full;
}
inline bool runs_operators_again(question const& q) {
  return has(q.layout.recompute, recomputation::operators);
}
// Gated, dense, heads not grouped: Llama's first form.
inline bool is_first_llama(question const& q) {
  for (layer const& l : q.model.kinds) {
    bool const has_own_keys = l.mix.kind == mixer_kind::attention && !(l.mix.groups < l.mix.heads);
    if (!has_own_keys || l.feed.kind != feed_forward_kind::dense || !l.feed.is_gated) return false;
  }
  return true;
}

struct suggestion {
  program_kind program;
  std::array<trait, 3> all;  // null: no further one
};

// The first whose traits the run has.
inline constexpr suggestion suggestions[] = {
    {program_kind::classic, {shards_nothing, has_fp16}},
    {program_kind::classic, {shards_nothing, is_on_ampere, recomputes_as_of_old}},
    {program_kind::plain, {is_on_hopper, has_16_bits_or_more, is_first_llama}},
    {program_kind::recipe, {has_low_precision}},
    {program_kind::recipe, {has_nodes}},
    {program_kind::tuned, {}},
};

inline program_kind suggested_program(question const& q) {
  for (suggestion const& each : suggestions) {
    bool has_all = true;
    for (trait has : each.all) has_all = has_all && (has == nullptr || has(q));
    if (has_all) return each.program;
  }
  return program_kind::tuned;
}

struct program_defaults {
  program_kind program;
  fact_values facts;
  char const* source;
};

// These switches are on, and the loss is taken so. Norms and permutations are one kernel each; other
// facts have their first value.
constexpr fact_values switched_on(std::initializer_list<fact> switches, logits_held loss) {
  fact_values made;
  for (fact each : {fact::fused_norm, fact::fused_permutation}) made.set(each, is_on);
  for (fact each : switches) made.set(each, is_on);
  made.set(fact::loss, static_cast<unsigned char>(loss));
  return made;
}

inline constexpr program_defaults all_defaults[] = {
    {program_kind::recipe,
     switched_on({fact::tensor_overlap, fact::data_overlap, fact::fused_activation, fact::fused_rotation,
                  fact::context_balance},
                 logits_held::fused),
     "scripts/performance/configs of Megatron-Bridge 0.5: tp_comm_overlap, overlap_grad_reduce"},
    {program_kind::tuned,
     switched_on({fact::fused_activation, fact::fused_rotation, fact::context_balance},
                 logits_held::whole),
     "megatron/training/arguments.py of megatron-core 0.16.1, but for experts: all-to-all, grouped and "
     "permuted in one kernel"},
    {program_kind::plain, switched_on({fact::context_balance}, logits_held::whole),
     "src/nanotron of nanotron: no kernel for either, sums after the last backward"},
    {program_kind::classic,
     switched_on({fact::fused_rotation, fact::context_balance}, logits_held::whole),
     "megatron/arguments.py of Megatron-LM 2.5"},
    {program_kind::sharded,
     switched_on({fact::data_overlap, fact::fused_rotation, fact::context_balance}, logits_held::fused),
     "torch.distributed.fsdp of PyTorch 2.4 and llm-foundry: gathers ahead, sums beside the backward"},
    {program_kind::torchtitan,
     switched_on({fact::data_overlap, fact::context_balance}, logits_held::whole),
     "torchtitan/config/configs.py of torchtitan 0.3.0: compile.enable is false; the loss is that of "
     "0.2"},
};

inline program_defaults const& defaults(program_kind program) {
  for (program_defaults const& each : all_defaults)
    if (each.program == program) return each;
  return all_defaults[1];
}

}  // namespace stack_detail

fact_values defaults_of(program_kind program, machine const& device) {
  fact_values made = stack_detail::defaults(program).facts;
  // Tokens are sorted by operators of PyTorch, and torch._grouped_mm computes all experts.
  if (program == program_kind::torchtitan) {
    made.set(fact::expert_products, static_cast<unsigned char>(expert_kernels::single));
    made.set(fact::fused_permutation, is_off);
  }
  // The recipes for Blackwell launch attention and routing from graphs, and send a token once.
  if (program == program_kind::recipe && is_blackwell(device)) {
    made.set(fact::graphs, static_cast<unsigned char>(captured::layers));
    made.set(fact::expert_dispatch, static_cast<unsigned char>(token_dispatch::once));
  }
  return made;
}

char const* defaults_source(program_kind program) { return stack_detail::defaults(program).source; }

stack stack_of(question const& q) {
  stack s;
  s.sums_in_shards = q.layout.sharding == sharding::gradients && q.layout.pipeline > 1;
  s.is_sharded = q.layout.sharding == sharding::full
                 || (q.layout.sharding == sharding::gradients && !s.sums_in_shards);
  bool const is_said = q.program.kind != program_kind::automatic;
  s.program = is_said                                 ? q.program.kind
              : stack_detail::runs_operators_again(q) ? program_kind::torchtitan
              : s.is_sharded                          ? program_kind::sharded
                                                      : stack_detail::suggested_program(q);
  bool const is_megatron = s.program == program_kind::tuned || s.program == program_kind::recipe;
  s.is_classic = s.program == program_kind::classic && !s.is_sharded;
  s.is_torchtitan = s.program == program_kind::torchtitan;
  s.is_plain = (s.program == program_kind::plain || s.is_torchtitan) && !s.is_sharded;
  s.is_tuned = is_megatron || (!is_said && is_blackwell(newest_of(q.cluster)));
  s.facts = defaults_of(s.program, newest_of(q.cluster));
  // Compiled programs fuse the activation: those in 8 bits, and Transformer Engine's.
  if (s.is_tuned || is_low(q.program.format)) s.facts.set(fact::fused_activation, is_on);
  // Virtual stages and executed schedules send beside passes, 1F1B with what comes back.
  bool const sends_beside = q.layout.chunks > 1 || q.layout.is_executed();
  s.facts.set(fact::transfers,
              static_cast<unsigned char>(sends_beside ? message::beside : message::batched));
  s.facts.numbers = q.program.facts.numbers;
  for (std::size_t i = 0; i < fact_count; ++i)
    if (q.program.facts.of[i] != given_facts::not_said) s.facts.of[i] = q.program.facts.of[i];
  // Fused kernels take 16 bits or fewer.
  bool const usually_writes = s.is_classic || q.program.format == number_format::fp32;
  s.writes_scores = q.program.attention == attention_kernel::automatic
                        ? usually_writes
                        : q.program.attention == attention_kernel::unfused;
  s.has_usual_attention = s.writes_scores == usually_writes;
  bool const usual = s.is_tuned || s.is_sharded || q.layout.recompute != recomputation::full;
  s.splits_sequences = q.layout.tensor > 1
                       && (q.program.sequence_parallel == sequence_split::automatic
                               ? usual
                               : q.program.sequence_parallel == sequence_split::on);
  s.hides_exchanges = s.facts.has(fact::tensor_overlap) && s.splits_sequences;
  return s;
}

run_kind run_kind_of(question const& q) {
  stack const s = stack_of(q);
  if (s.is_sharded) return run_kind::sharded;
  if (s.is_classic) return run_kind::classic;
  if (s.is_plain) return run_kind::plain;
  if (q.model.has_experts() || q.model.has_state_space()) return run_kind::experts;
  switch (bits_of(q.program.format)) {
    case 4:
      return run_kind::dense_4_bits;
    case 8:
      return run_kind::dense_8_bits;
    case 32:
      return run_kind::dense_32_bits;
    default:
      return run_kind::dense_16_bits;
  }
}

}  // namespace ashlar::cost
