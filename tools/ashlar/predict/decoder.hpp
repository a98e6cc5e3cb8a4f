// A decoder's layers, part by part, as its config.json says them; the types are made of these.
#pragma once

#include "predict/models.hpp"
#include "predict/norm_sizes.hpp"

namespace tool {

class decoder {
 public:
  using architecture = ashlar::cost::architecture;
  using feed_forward = ashlar::cost::feed_forward;
  using mixer = ashlar::cost::mixer;
  using keys = model_config::keys;

  // `one_in`: where a window is given, one in this many layers sees all.
  decoder(model_config const& config, architecture& made, double one_in)
      : c_(config), a_(made), one_in_(one_in) {}

  // These are dense.
  void llama();
  void smollm3();
  void mistral();
  void phi3();
  void qwen2();
  void qwen3();
  void gemma();
  void gemma2();
  void gemma3();
  void cohere();
  void glm();
  void glm4();
  void olmo();
  void olmo2();
  void exaone4();
  void hunyuan_dense();
  void ernie();
  void gpt2();
  void gptj();
  void gpt_neox();
  void opt();
  void bloom();
  void falcon();
  void starcoder2();
  void nemotron();

  // These have experts.
  void mixtral();
  void qwen2_moe();
  void qwen3_moe();
  void glm4_moe();
  void granitemoe();
  void olmoe();
  void hunyuan_moe();
  void ernie_moe();
  void gpt_oss();
  void llama4();
  void deepseek();

  // Their code comes with their weights.
  void bailing_moe();
  void chatglm();
  void deepseek_v1();
  void grok();
  void nemotron_nas();
  void orion();
  void qwen();
  void telechat();

  // These have state-space layers or linear attention.
  void qwen3_next();
  void nemotron_h();
  void mamba2();
  void jamba();
  void minimax();

 private:
  void begin(norm_sizes const& final_norm = rms_norm);
  void begin_with(keys hidden, keys layers, norm_sizes const& final_norm);
  void set_tables(norm_sizes const& final_norm);
  mixer heads_of(keys heads) const;
  mixer with_biases(mixer m, bool before, bool after) const;
  mixer attention(bool bias_before, bool bias_after) const;
  // Adds a norm of each head, for queries and keys; all heads share it.
  static mixer with_head_norms(mixer m);
  mixer mamba2_mixer(double heads, double inner, double groups, double state, bool bias) const;
  feed_forward gated(bool bias) const;
  feed_forward gated_of(double width, bool bias) const;
  feed_forward plain(double width, bool bias) const;
  feed_forward experts(double width) const;
  feed_forward with_shared(feed_forward f) const;
  // The shared expert has a size of its own, and a gate.
  feed_forward with_shared_gate() const;
  void add(mixer m, feed_forward f, norm_sizes const& norms);
  // Repeats layers that differ only in what their attention sees.
  void repeat(mixer const& m, feed_forward const& f, norm_sizes const& norms);
  // Some of these layers are dense.
  void mixed(mixer const& m, feed_forward const& routed, norm_sizes const& norms,
             bool dense_bias = false);
  void repeat_with_wide_norms(bool has_experts);
  // Each type says which layers have experts.
  bool is_routed_at(int i) const;
  // Sets whether a layer sees a window, a chunk, or all: listed, or in the pattern of the type.
  mixer seen_by(mixer m, int i) const;
  bool chooses_at(int i) const;
  mixer with_indexer(mixer m) const;
  // A gated delta net.
  mixer linear_mixer() const;

  model_config const& c_;
  architecture& a_;
  double h_ = 0;  // hidden size
  double one_in_;
  int layers_ = 0;
};

// Limits a token's experts to some of their groups: n_group and topk_group.
void limit_to_groups(model_config const& c, ashlar::cost::feed_forward& f);

}  // namespace tool
