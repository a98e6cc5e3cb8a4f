#include "predict/megatron_encoder.hpp"

namespace tool {

using ashlar::cost::architecture;
using ashlar::cost::layer;
using ashlar::cost::mixer_kind;

void make_encoder(megatron_command const& a, bool has_pairs, architecture& model) {
  for (layer& l : model.kinds) {
    if (l.mix.kind != mixer_kind::attention || model.predictions > 0)
      a.fail("has layers that pretrain_bert.py does not make");
    l.mix.sees_all = true;
  }
  double const h = model.hidden, square = h * h + h;
  model.beside += square + 2 * h + model.vocabulary;            // of the head
  if (has_pairs) model.beside += 2 * h + square + 2 * (h + 1);  // types of tokens, the pooler, its head
}

}  // namespace tool
