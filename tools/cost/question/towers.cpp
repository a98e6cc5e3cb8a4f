#include <ashlar/cost/model/tower_parameters.hpp>
#include <ashlar/cost/question/stack.hpp>
#include <ashlar/cost/question/towers.hpp>

namespace ashlar::cost {

question tower_question(question const& q, tower const& t) {
  question made = q;
  made.model = architecture_of(q.model, t);
  made.sequence = t.whole_tokens_of(q.sequence);
  made.layout.micro_batch *= t.inputs;
  if (t.is_undivided) made.layout.tensor = 1;
  made.layout.context = 1;                 // sequences are divided behind the embedding
  made.layout.recompute_in.these.clear();  // of the model's layers
  if (t.keeps_all || !q.layout.recompute_in.these.empty()) made.layout.recompute = recomputation::none;
  // Which program it is does not depend on the tower.
  program_kind const program = stack_of(q).program;
  if (stack_of(made).program != program) made.program.kind = program;
  return made;
}

double cross_keys(architecture const& model, int sequence) {
  return model.towers.empty() ? 0 : model.towers.back().inputs * model.towers.back().rows(sequence);
}

bool reads_untrained(architecture const& a, std::size_t number, std::size_t product) {
  tower const& t = a.towers[number];
  bool const is_first = product == 0 && (t.layers.empty() || t.products[0].is_ahead);
  return is_first && !a.has_gradients_before_tower(number);
}

}  // namespace ashlar::cost
