#include <ashlar/cost/question/stack.hpp>

namespace ashlar::cost {

namespace stack_detail {

inline bool is_first_llama(architecture const& a) {
  for (layer const& l : a.kinds) {
    bool const has_own_keys = l.mix.kind == mixer_kind::attention && !(l.mix.groups < l.mix.heads);
    if (!has_own_keys || l.feed.kind != feed_forward_kind::dense || !l.feed.is_gated) return false;
  }
  return true;
}

inline bool looks_classic(question const& q) {
  bool const is_old =
      q.cluster.device.like() == family::ampere
      && (q.layout.recompute == recomputation::attention || q.layout.recompute == recomputation::full);
  return q.layout.sharding == sharding::none && (q.program.format == number_format::fp16 || is_old);
}

inline bool looks_plain(question const& q) {
  return q.cluster.device.like() == family::hopper && !is_low(q.program.format) && q.layout.context == 1
         && q.layout.chunks == 1 && !q.layout.is_executed() && is_first_llama(q.model);
}

}  // namespace stack_detail

stack stack_of(question const& q) {
  stack s;
  s.sums_in_shards = q.layout.sharding == sharding::gradients && q.layout.pipeline > 1;
  s.is_sharded = q.layout.sharding == sharding::full
                 || (q.layout.sharding == sharding::gradients && !s.sums_in_shards);
  switch (q.program.kind) {
    case program_kind::automatic:
      s.is_classic = stack_detail::looks_classic(q);
      s.is_plain = !s.is_sharded && !s.is_classic && stack_detail::looks_plain(q);
      s.is_tuned = is_blackwell(q.cluster.device) || !(s.is_sharded || s.is_classic || s.is_plain);
      break;
    case program_kind::tuned:
      s.is_tuned = true;
      break;
    case program_kind::plain:
      s.is_plain = !s.is_sharded;
      break;
    case program_kind::classic:
      s.is_classic = !s.is_sharded;
      break;
  }
  s.writes_scores = q.program.attention == attention_kernel::automatic
                        ? s.is_classic
                        : q.program.attention == attention_kernel::unfused;
  bool const usual = s.is_tuned || s.is_sharded || q.layout.recompute != recomputation::full;
  s.splits_sequences = q.layout.tensor > 1
                       && (q.program.sequence_parallel == sequence_split::automatic
                               ? usual
                               : q.program.sequence_parallel == sequence_split::on);
  s.hides_exchanges = s.is_tuned && s.splits_sequences;
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
