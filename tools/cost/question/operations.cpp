#include <ashlar/cost/model/adapted_matrices.hpp>
#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/question/towers.hpp>

#include <cstddef>

namespace ashlar::cost {

namespace operations_detail {

// Operations per token of scores and their use.
inline double attention_operations(int sequence, mixer const& m) {
  if (m.kind == mixer_kind::attention) return 4 * attention_span(sequence, m) * m.heads * m.head;
  if (m.kind == mixer_kind::compressed && m.chosen > 0)
    return 2 * attention_span(sequence, m) * m.heads * (2 * m.kv_rank + m.rope);
  if (m.kind == mixer_kind::compressed)
    return 2 * attention_span(sequence, m) * m.heads * (m.nope + m.rope + m.value_head);
  return 0;
}

// Operations of an indexer per token beyond six of each of its parameters: its scores, without
// gradients.
inline double more_of_indexer(architecture const& a, layer const& l, int sequence, gradient_kind takes) {
  mixer const& m = l.mix;
  double const counted = takes == gradient_kind::all ? 4 : takes == gradient_kind::inputs ? 2 : 0;
  return m.index_heads * m.index_head * sequence - counted * index_matrices(a, m);
}

// Operations of some layers for one sequence, with those of gradients where their parameters train.
struct operation_counts {
  double forward = 0, gradients = 0;

  void add(double of_parameters, double of_scores, gradient_kind takes) {
    forward += of_parameters + of_scores;
    if (takes == gradient_kind::none) return;
    gradients += of_parameters + 2 * of_scores;
    if (takes == gradient_kind::all) gradients += of_parameters;
  }
};

// Operations for one sequence. Behind nothing that trains, a first product has no gradient of its input.
inline double tower_operations(architecture const& a, std::size_t number, int sequence) {
  tower const& t = a.towers[number];
  architecture const own = architecture_of(a, t);
  gradient_kind const takes = a.gradients_of_tower(number);
  int const tokens = t.whole_tokens_of(sequence);
  operation_counts count;
  for (int i = 0; i < own.layer_count(); ++i) {
    layer const& l = own.at(i);
    double const met = layer_matrices(own, l, l.feed.chosen) + l.mix.beside + l.feed.beside,
                 adapters = own.lora.are_any() ? adapter_products(own, l) : 0;
    count.add(2.0 * met * tokens, attention_operations(tokens, l.mix) * tokens, takes);
    count.add(2.0 * adapters * tokens, 0, gradient_kind::all);
  }
  for (std::size_t i = 0; i < t.products.size(); ++i) {
    tower_product const& p = t.products[i];
    double const of_product = 2 * t.rows_of(p, sequence) * p.inner * p.columns;
    if (p.is_of_activations)
      count.add(0, of_product, takes);
    else
      count.add(of_product, 0, takes);
    if (reads_untrained(a, number, i) && takes == gradient_kind::all) count.gradients -= of_product;
  }
  return t.inputs * (count.forward + count.gradients);
}

// Operations of cross attention beyond those of its parameters with each token.
inline double more_of_cross_attention(architecture const& a, layer const& l, int sequence,
                                      gradient_kind takes) {
  mixer const& m = l.cross;
  if (m.kind == mixer_kind::none) return 0;
  double const keys = cross_keys(a, sequence);
  operation_counts count;
  count.add(2 * (keys - sequence) * cross_key_matrices(a, m), 4.0 * sequence * keys * m.heads * m.head,
            takes);
  return count.forward + count.gradients;
}

}  // namespace operations_detail

double step_operations(architecture const& a, int sequence, int batch) {
  double met = active_parameters(a) - (a.is_tied ? 0 : a.table_parameters()), attention = 0, beside = 0;
  for (std::size_t i = 0; i < a.towers.size(); ++i) {
    met -= tower_active_parameters(a, a.towers[i]);
    beside += operations_detail::tower_operations(a, i, sequence);
  }
  for (int i = 0; i < a.layer_count(); ++i)
    attention += operations_detail::attention_operations(sequence, a.at(i).mix);
  if (a.predictions > 0) {
    layer const& l = a.predictor;
    double const block = layer_matrices(a, l, l.feed.chosen) + 2 * a.hidden * a.hidden;
    met += a.predictions * (block + a.table_parameters());
    attention += a.predictions * operations_detail::attention_operations(sequence, l.mix);
  }
  // Frozen parts take no gradients of weights, nor of inputs if nothing before them trains.
  int const first_trained = a.first_trained();
  double less = a.trains_head() ? 0 : 2 * a.head_parameters();
  for (int i = 0; i < a.layer_count(); ++i)
    beside += operations_detail::more_of_cross_attention(a, a.at(i), sequence,
                                                         a.gradients_of(i, first_trained));
  for (int i = 0; i < a.layer_count(); ++i)
    beside += operations_detail::more_of_indexer(a, a.at(i), sequence, a.gradients_of(i, first_trained))
              * sequence;
  for (int i = 0; i < a.layer_count() && a.freezes_any(); ++i) {
    layer const& l = a.at(i);
    gradient_kind const takes = a.gradients_of(i, first_trained);
    double const own =
        layer_matrices(a, l, l.feed.chosen) + l.mix.beside + l.cross.beside + l.feed.beside;
    if (takes != gradient_kind::all) less += 2 * own;
    if (takes == gradient_kind::none)
      less += 2 * own + 2 * operations_detail::attention_operations(sequence, l.mix);
  }
  return (6 * (met + adapter_products(a)) + 3 * attention - less) * sequence * batch + beside * batch;
}

}  // namespace ashlar::cost
