// BERT, as Megatron-LM's pretrain_bert.py makes it of the arguments of a decoder.
#pragma once

#include "predict/megatron_command.hpp"
#include <ashlar/cost/model/architecture.hpp>

namespace tool {

// Makes a decoder with its norms an encoder: attention sees all tokens; types of tokens, the layer
// before the logits and their biases, and, without --bert-no-binary-head, a pooler and a head for pairs
// of sentences.
void make_encoder(megatron_command const& a, bool has_pairs, ashlar::cost::architecture& model);

}  // namespace tool
