#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/towers.hpp>
#include <ashlar/cost/step/kept.hpp>
#include <ashlar/cost/step/operators.hpp>
#include <ashlar/cost/step/packed_weights.hpp>
#include <ashlar/cost/step/work.hpp>

namespace ashlar::cost {

namespace work_detail {

// Adds the parts of a layer.
class worker {
 public:
  worker(question const& q, layer_work& w)
      : q_(q),
        w_(w),
        stack_(stack_of(q)),
        tokens_(q.micro_batch_tokens()),
        hidden_(q.model.hidden),
        tensor_(q.layout.tensor),
        value_(value_bytes(q.program.format)) {
    w_.tensor_bytes = value_ * tokens_ * hidden_ * (tensor_ - 1) / tensor_;
  }

  void add(mixer const& m) {
    if (m.kind == mixer_kind::none) return;
    if (m.kind == mixer_kind::attention) add_attention(m);
    if (m.kind == mixer_kind::compressed) add_compressed(m);
    if (m.kind == mixer_kind::state_space) add_state_space(m);
    add_residual();
    w_.tensor_count += 2;
    ++w_.parts;
  }

  // Attention to what the last tower made.
  void add_cross(mixer const& m) {
    if (m.kind == mixer_kind::none) return;
    double const keys = cross_keys(q_.model, q_.sequence), read = q_.model.cross_width(),
                 heads = m.heads / tensor_;
    add_product(tokens_, (m.has_gate ? 2 : 1) * heads * m.head, hidden_);
    add_product(keys * q_.layout.micro_batch, 2 * m.groups * m.head / tensor_, read);
    add_product(tokens_, hidden_, heads * m.head);
    add_cross_scores(m);
    add_residual();
    w_.tensor_count += 2;
    ++w_.parts;
  }

  void add(feed_forward const& f) {
    if (f.kind == feed_forward_kind::none) return;
    add_residual();
    ++w_.parts;
    if (f.kind == feed_forward_kind::dense)
      add_split(f, f.width);
    else
      add_experts(f);
  }

  void add_again(mixer const& m, recomputation parts) {
    if (m.kind == mixer_kind::none) return;
    bool const is_compressed = m.kind == mixer_kind::compressed;
    if (has(parts, recomputation::norms)) add_norm();
    if (has(parts, recomputation::up_projections) && is_compressed) add_up_projections(m);
    if (!has(parts, recomputation::attention) || m.kind == mixer_kind::state_space) return;
    if (is_compressed)
      add_compressed_scores(m);
    else
      add_scores(m, m.head, m.head);
  }

  void add_cross_again(mixer const& m, recomputation parts) {
    if (m.kind == mixer_kind::none) return;
    if (has(parts, recomputation::norms)) add_norm();
    if (has(parts, recomputation::attention)) add_cross_scores(m);
  }

  void add_again(feed_forward const& f, recomputation parts) {
    if (f.kind == feed_forward_kind::none) return;
    if (has(parts, recomputation::norms)) add_norm();
    if (f.kind == feed_forward_kind::dense) {
      if (!has(parts, recomputation::dense)) return;
      add_split(f, f.width);
      ++w_.parts;
    } else if (has(parts, recomputation::experts)) {
      add_experts(f);
      ++w_.parts;
    } else {
      if (has(parts, recomputation::activation))
        add_activation(f, received(f), f.expert_width / q_.layout.expert_tensor);
      if (has(parts, recomputation::shared_expert) && f.shared_width > 0) add_split(f, f.shared_width);
    }
  }

  // Splits a dense part over tensor ranks.
  void add_split(feed_forward const& f, double whole_width) {
    double const width = whole_width / tensor_;
    add_product(tokens_, (f.is_gated ? 2 : 1) * width, hidden_);
    add_product(tokens_, hidden_, width);
    add_activation(f, tokens_, width);
    w_.tensor_count += 2;
  }

  // Selective recomputation: products that are not kept, and all between them. Exchanges are kept.
  void add_operators_again(layer const& l) {
    for (operator_product const& each : operator_products(q_, l)) {
      if (!each.is_kept) add_product(tokens_, each.out, each.in);
      move(3 * tokens_ * each.added, 0);
    }
    mixer const& m = l.mix;
    add_norm();
    if (l.cross.kind != mixer_kind::none) add_norm();
    if (m.kind == mixer_kind::attention)
      move(rotation_moves() * tokens_ * (m.heads + m.groups) * m.head / tensor_, 0);
    if (l.feed.kind == feed_forward_kind::none) return;
    add_norm();
    if (l.feed.kind == feed_forward_kind::dense)
      add_activation(l.feed, tokens_, l.feed.width / tensor_);
    else
      add_experts(l.feed);
  }

 private:
  void add_product(double m, double n, double k, double count = 1, bool is_low = true) {
    w_.products.push_back({.m = m, .n = n, .k = k, .count = count, .is_low = is_low});
    unpacking_bytes const unpacked = unpacking_of(q_.model.lora, m, n, k, value_);
    w_.forward_bytes += count * unpacked.forward;
    w_.backward_bytes += count * unpacked.backward;
    if (!is_low) return;
    w_.quantised_forward += count * m * k;
    w_.quantised_backward += count * m * n;
  }

  void move(double forward, double backward) {
    w_.forward_bytes += value_ * forward;
    w_.backward_bytes += value_ * backward;
  }

  void add_scores(mixer const& m, double query_head, double value_head) {
    double const heads = m.heads / tensor_;
    w_.scores += tokens_ * attention_span(q_.sequence, m) * heads * longest_share(m);
    w_.all_scores += tokens_ * q_.sequence * heads;
    w_.head = (query_head + value_head) / 2;
  }

  void add_cross_scores(mixer const& m) {
    double const scores = tokens_ * cross_keys(q_.model, q_.sequence) * m.heads / tensor_;
    w_.scores += scores;
    w_.all_scores += scores;
    w_.head = m.head;
  }

  // Without balance, the rank with a sequence's end has all scores of its tokens but half of the last.
  double longest_share(mixer const& m) const {
    bool const is_even = stack_.facts.has(fact::context_balance) || m.window > 0 || m.chosen > 0
                         || m.chunk > 0 || m.sees_all;
    return is_even ? 1 : 2 - 1.0 / q_.layout.context;
  }

  void add_attention(mixer const& m) {
    double const d = m.head, n = m.heads, g = m.groups;
    add_product(tokens_, ((m.has_gate ? 2 : 1) * n + 2 * g) * d / tensor_, hidden_);
    add_product(tokens_, hidden_, n * d / tensor_);
    add_scores(m, d, d);
    double const rotated = rotation_moves() * tokens_ * (n + g) * d / tensor_;
    move(rotated, rotated);
    w_.context_bytes = 2 * value_ * tokens_ * g * d / tensor_;
  }

  // Reads and writes of each element of queries and keys: one kernel and a copy. Unfused, each step has
  // a kernel, in 32 bits: cast (3), product with sines and cosines (4), cast back (3), copy.
  double rotation_moves() const { return stack_.facts.has(fact::fused_rotation) ? 4 : 12; }

  double rows() const { return stack_.splits_sequences ? tokens_ / tensor_ : tokens_; }

  // The projections down are not split over heads.
  void add_compressed(mixer const& m) {
    double const n = m.heads;
    if (m.q_rank > 0) add_product(rows(), m.q_rank, hidden_);
    add_product(rows(), m.kv_rank + m.rope, hidden_);
    add_up_projections(m);
    add_product(tokens_, hidden_, n * m.value_head / tensor_);
    add_compressed_scores(m);
    w_.context_bytes = value_ * tokens_ * n * (m.nope + m.rope + m.value_head) / tensor_;
    if (m.chosen > 0) w_.context_bytes = value_ * tokens_ * (m.kv_rank + m.rope + m.index_head);
    if (m.index_heads > 0) add_indexer(m);
  }

  // Heads meet chosen keys as they are compressed, and the values come from the same.
  void add_compressed_scores(mixer const& m) {
    if (m.chosen > 0)
      add_scores(m, m.kv_rank + m.rope, m.kv_rank);
    else
      add_scores(m, m.nope + m.rope, m.value_head);
  }

  // Nothing flows back through a choice. Each tensor rank chooses for all tokens; scores of all heads
  // are one, in 32 bits, which is written and read.
  void add_indexer(mixer const& m) {
    std::size_t const first = w_.products.size();
    add_product(rows(), m.index_heads * m.index_head, m.q_rank > 0 ? m.q_rank : hidden_);
    add_product(rows(), m.index_head + m.index_heads, hidden_);
    add_product(tokens_, q_.sequence / 2.0, m.index_heads * m.index_head, 1, false);
    for (std::size_t i = first; i < w_.products.size(); ++i) w_.products[i].has_backward = false;
    move(4 * tokens_ * q_.sequence, 0);
  }

  // Adds rotations, too.
  void add_up_projections(mixer const& m) {
    double const n = m.heads, wide = m.nope + m.rope;
    add_product(tokens_, n * wide / tensor_, m.q_rank > 0 ? m.q_rank : hidden_);
    add_product(tokens_, n * (m.nope + m.value_head) / tensor_, m.kv_rank);
    double const moved = tokens_ * n * (4 * wide + 2 * m.value_head) / tensor_;
    move(moved, moved);
  }

  void add_state_space(mixer const& m) {
    if (m.rank > 0) {  // Mamba-1
      add_product(tokens_, 2 * m.inner / tensor_, hidden_);
      add_product(tokens_, m.rank + 2 * m.keys, m.inner / tensor_);
      add_product(tokens_, m.inner / tensor_, m.rank);
    } else {
      add_product(tokens_, (2 * m.inner + 2 * m.keys + m.steps) / tensor_, hidden_);
    }
    add_product(tokens_, hidden_, m.inner / tensor_);
    double const channels = tokens_ * m.inner / tensor_;
    if (m.keys > 0)
      w_.scan += channels;
    else  // A decay and a value make a state, and its gradient theirs.
      move(3 * channels, 5 * channels);
    double const moved = tokens_ * (8 * m.inner + 8 * m.keys) / tensor_;  // convolution, gate, norm
    move(moved, 2 * moved);
  }

  // Reads and writes of each element of a norm: one kernel each way. Not fused, each step has a kernel,
  // in 32 bits. Forward: cast (3), square (4), mean (2), product (4), cast back (3), weights (2).
  // Backward: gradients of weights (4) and through them (2), cast (3), product both ways (12), mean (2),
  // square (10), sum (6), cast back (3).
  double norm_moves() const { return stack_.facts.has(fact::fused_norm) ? 2 : 18; }
  double norm_moves_back() const { return stack_.facts.has(fact::fused_norm) ? 3 : 42; }

  // A norm and a sum: 3 reads and writes more of a token's values, each way.
  void add_residual() {
    move((norm_moves() + 3) * rows() * hidden_, (norm_moves_back() + 3) * rows() * hidden_);
  }

  // A norm alone, forward.
  void add_norm() { move(norm_moves() * rows() * hidden_, 0); }

  // Counts reads and writes of each element of the hidden layer. One kernel runs each way; unfused,
  // SiLU, the product and the gradients of both halves are separate kernels. Clamped gates with biases
  // run as some twenty.
  void add_activation(feed_forward const& f, double rows, double width) {
    double const elements = rows * width;
    if (f.is_clamped)
      move(24 * elements, 40 * elements);
    else if (!f.is_gated)
      move(2 * elements, 3 * elements);
    else if (stack_.facts.has(fact::fused_activation))
      move(3 * elements, 5 * elements);
    else
      move(5 * elements, 12 * elements);
  }

  // Copies of tokens that the busiest rank sends: those that experts accept.
  double sent(feed_forward const& f) const {
    double const load = stack_.facts.expert_load();
    return tokens_ / tensor_ * f.chosen * (load < 1 ? load : 1);
  }
  // Copies that it computes, with those gathered from the expert-tensor ranks.
  double received(feed_forward const& f) const {
    return tokens_ / tensor_ * f.chosen * stack_.facts.expert_load() * q_.layout.expert_tensor;
  }

  // All ranks wait for the busiest one. Without an imbalance, a device receives as many copies of tokens
  // as it sends.
  void add_experts(feed_forward const& f) {
    double const in = f.latent > 0 ? f.latent : hidden_;
    double const here = tokens_ / tensor_;  // tokens that this rank routes
    double const copies = here * f.chosen * stack_.facts.expert_load();
    w_.experts = f.experts / q_.layout.expert;
    double const width = f.expert_width / q_.layout.expert_tensor, rows = received(f) / w_.experts;
    bool const is_one_kernel = stack_.facts.experts() == expert_kernels::single;
    add_product(here, f.experts, hidden_, 1, false);  // the router
    if (f.latent > 0) {
      add_product(here, in, hidden_);
      add_product(here, hidden_, in);
    }
    add_product(rows, (f.is_gated ? 2 : 1) * width, in, w_.experts);
    w_.products.back().is_one_kernel = is_one_kernel;
    add_product(rows, in, width, w_.experts);
    w_.products.back().is_one_kernel = is_one_kernel;
    add_activation(f, received(f), width);
    // Before and after the exchange, and back. Not fused, the sums of a token's copies, and of their
    // gradients, are read and written for each copy.
    double const apart = stack_.facts.has(fact::fused_permutation) ? 0 : 1,
                 permuted = in * (4 * received(f) + (4 + apart) * sent(f));
    move(permuted, permuted);
    if (f.shared_width > 0) add_split(f, f.shared_width);
    if (q_.layout.expert > 1) w_.expert_bytes = value_ * copies * in;
    // Shares are unequal, so they are gathered at half the rate.
    if (q_.layout.expert_tensor > 1)
      w_.gather_bytes = 2 * value_ * copies * in * (q_.layout.expert_tensor - 1);
  }

  question const& q_;
  layer_work& w_;
  stack stack_;
  double tokens_, hidden_, tensor_, value_;
};

}  // namespace work_detail

layer_work work_of(question const& q, layer const& l) {
  layer_work w;
  work_detail::worker worker(q, w);
  worker.add(l.mix);
  worker.add_cross(l.cross);
  worker.add(l.feed);
  return w;
}

layer_work work_again(question const& q, layer const& l, recomputation parts) {
  if (parts == recomputation::none) return {};
  if (has(parts, recomputation::full)) return work_of(q, l);
  layer_work w;
  work_detail::worker worker(q, w);
  if (has(parts, recomputation::operators)) {
    worker.add_operators_again(l);
    return w;
  }
  worker.add_again(l.mix, parts);
  worker.add_cross_again(l.cross, parts);
  worker.add_again(l.feed, parts);
  return w;
}

layer_work shared_expert_work(question const& q, feed_forward const& f) {
  layer_work w;
  if (f.shared_width > 0) work_detail::worker(q, w).add_split(f, f.shared_width);
  return w;
}

product head_product(question const& q) {
  return {.m = q.micro_batch_tokens(),
          .n = head_rows(q.model, q.layout.tensor),
          .k = head_columns(q.model),
          .is_low = false};
}

}  // namespace ashlar::cost
