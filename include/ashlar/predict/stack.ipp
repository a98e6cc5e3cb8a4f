// Definitions of stack.hpp.
#pragma once

#include <ashlar/core/compiled.hpp>
#include <ashlar/predict/stack.hpp>

namespace ashlar::predict {

namespace stack_detail {

inline bool is_first_llama(architecture const& a) {
  for (layer const& l : a.kinds) {
    bool const has_own_keys = l.mix.kind == mixer_kind::attention && !(l.mix.groups < l.mix.heads);
    if (!has_own_keys || l.feed.kind != feed_forward_kind::dense || !l.feed.is_gated) return false;
  }
  return true;
}

inline bool looks_classic(question const& q) {
  bool const is_old = q.device.like() == family::ampere
                      && (q.again == recomputation::attention || q.again == recomputation::full);
  return q.shares == sharding::none && (q.format == number_format::fp16 || is_old);
}

inline bool looks_plain(question const& q) {
  return q.device.like() == family::hopper && !is_low(q.format) && q.context == 1 && q.chunks == 1
         && !q.is_executed() && is_first_llama(q.model);
}

}  // namespace stack_detail

ASHLAR_INLINE stack stack_of(question const& q) {
  stack s;
  s.sums_in_shards = q.shares == sharding::gradients && q.pipeline > 1;
  s.is_sharded = q.shares == sharding::full || (q.shares == sharding::gradients && !s.sums_in_shards);
  switch (q.program) {
    case program_kind::automatic:
      s.is_classic = stack_detail::looks_classic(q);
      s.is_plain = !s.is_sharded && !s.is_classic && stack_detail::looks_plain(q);
      s.is_tuned = is_blackwell(q.device) || !(s.is_sharded || s.is_classic || s.is_plain);
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
  s.writes_scores = q.attention == attention_kernel::automatic
                        ? s.is_classic
                        : q.attention == attention_kernel::unfused;
  bool const usual = s.is_tuned || s.is_sharded || q.again != recomputation::full;
  s.splits_sequences =
      q.tensor > 1 && (q.splits == sequence_split::automatic ? usual : q.splits == sequence_split::on);
  s.hides_exchanges = s.is_tuned && s.splits_sequences;
  return s;
}

ASHLAR_INLINE run_kind run_kind_of(question const& q) {
  stack const s = stack_of(q);
  if (s.is_sharded) return run_kind::sharded;
  if (s.is_classic) return run_kind::classic;
  if (s.is_plain) return run_kind::plain;
  if (q.model.has_experts() || q.model.has_state_space()) return run_kind::experts;
  switch (bits_of(q.format)) {
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

}  // namespace ashlar::predict
