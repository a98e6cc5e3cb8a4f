// BERT and T5, as Megatron-LM's pretrain_bert.py and pretrain_t5.py make them of the arguments of a
// decoder.
#pragma once

#include "predict/megatron_command.hpp"
#include <ashlar/cost/model/architecture.hpp>

#include <string_view>

namespace tool {

// Makes a decoder with its norms an encoder: attention sees all tokens; types of tokens, the layer
// before the logits and their biases, and, without --bert-no-binary-head, a pooler and a head for pairs
// of sentences.
void make_encoder(megatron_command const& a, bool has_pairs, ashlar::cost::architecture& model);

// Arguments of pretrain_t5.py that say a size of both: layers, and the tokens of the encoder, which it
// returns; those of a decoder are then the decoder's.
bool is_of_both(std::string_view name);
long long name_sizes_of_decoder(megatron_command& a);

// Makes a decoder with its norms attend to an encoder of as many layers; biases of tied logits, and
// relative positions (megatron/core/models/T5).
void make_encoder_decoder(megatron_command& a, long long tokens, ashlar::cost::architecture& model);

}  // namespace tool
