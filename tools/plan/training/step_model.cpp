#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/cost.hpp>
#include <ashlar/plan/training/quantities.hpp>
#include <ashlar/plan/training/step_model.hpp>

#include <cstddef>

namespace ashlar {

layer_products products_of(transformer const& t, training_layout const& l) {
  double const tokens = l.micro_batch * t.sequence;
  return {2 * tokens * t.active_layer_parameters() / l.tensor,
          4 * tokens * t.hidden * t.sequence / l.tensor};
}

pass_seconds layer_seconds(transformer const& t, training_layout const& l, device_machine const& machine,
                           step_constants const& constants) {
  layer_products const p = products_of(t, l);
  double const exchange = constants.exchange * exchanged_bytes(t, l) / machine.inside;
  double const product = constants.products / machine.flops;
  double const forward = product * (p.matrices + p.scores) + exchange;
  double const again = l.again == recomputation::full        ? forward
                       : l.again == recomputation::attention ? product * p.scores
                                                             : 0;
  return {forward, 2 * product * (p.matrices + p.scores) + exchange + again};
}

pass_seconds head_seconds(transformer const& t, training_layout const& l, device_machine const& machine,
                          step_constants const& constants) {
  double const tokens = l.micro_batch * t.sequence;
  double const head =
      constants.products / machine.flops * 2 * tokens * t.embedding_parameters() / l.tensor;
  return {head, 2 * head};
}

stage_parameters_here parameters_of(transformer const& t, training_layout const& l, int layers,
                                    double embeddings) {
  double const embedding = embeddings > 0 ? t.embedding_parameters() : 0;
  return {(layers * t.layer_parameters() + embeddings * embedding) / l.tensor,
          max_of(t.layer_parameters(), embedding) / l.tensor};
}

void share_parameters(stage_seconds& s, stage_parameters_here const& here, double link,
                      parameter_sharing const& sharing, parameter_bytes const& each) {
  double const gathered = gathered_bytes(sharing, each) / link,
               scattered = scattered_bytes(sharing, each) / link;
  s.gather = here.all * gathered;
  s.scatter = here.all * scattered;
  s.reduction = here.all * reduced_bytes(sharing, each) / link
                + min_of(here.all, here.largest) * (gathered + scattered);
}

std::vector<stage_seconds> stage_times(transformer const& t, training_layout const& l,
                                       sharding_level level, stage_division const& division,
                                       std::vector<stage_site> const& sites) {
  double const tokens = l.micro_batch * t.sequence;
  std::vector<stage_seconds> made;
  std::size_t const count = division.layers.size();
  for (std::size_t i = 0; i < count; ++i) {
    stage_site const& at = sites[i];
    pass_seconds const layer = layer_seconds(t, l, at.machine, at.constants),
                       attention = attention_seconds(t, l, at.machine, at.constants);
    double const layers = division.layers[i];
    bool const embeds = i == 0 || i + 1 == count;
    stage_seconds s{.passes = layers * layer, .attention = layers * attention};
    if (division.with_head && i + 1 == count) s.passes += head_seconds(t, l, at.machine, at.constants);
    if (i + 1 < count) s.send = t.value_bytes * t.hidden * tokens / l.tensor / at.next;
    share_parameters(s, parameters_of(t, l, division.layers[i], embeds && division.with_head ? 1 : 0),
                     at.link, {level, l.data}, bytes_of_parameter(t.value_bytes));
    made.push_back(s);
  }
  return made;
}

std::vector<stage_seconds> stage_times(transformer const& t, training_layout const& l,
                                       sharding_level level, stage_division const& division,
                                       device_machine const& machine, step_constants const& constants) {
  double const link = outer_link(l, machine);
  std::vector<stage_site> const sites(division.layers.size(), {machine, constants, link, link});
  return stage_times(t, l, level, division, sites);
}

memory_model stage_bytes(transformer const& t, training_layout const& l, sharding_level level,
                         stage_division const& division, kept_widths const& widths) {
  split_layer const layer{t.hidden, t.active_feed_forward(), t.heads, t.sequence,
                          l.tensor, l.sequence_parallel};
  double const kept = kept_bytes(layer, l.micro_batch, l.again, widths);
  double const whole =
      l.again == recomputation::full ? kept_bytes(layer, l.micro_batch, recomputation::none, widths) : 0;
  memory_model made;
  std::size_t const count = division.layers.size();
  made.stages.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    double const layers = division.layers[i];
    double embeddings = 0;
    if (division.with_head)
      embeddings = (i == 0 ? 1 : 0) + (i + 1 == count && (count > 1 ? true : !t.tied) ? 1 : 0);
    double const logits =
        division.with_head && i + 1 == count
            ? (t.value_bytes + 4) * t.vocabulary * l.micro_batch * t.sequence / l.tensor
            : 0;
    stage_parameters_here const here = parameters_of(t, l, division.layers[i], embeddings);
    stage_memory& m = made.stages[i];
    m = kept_parameters(here.all, here.largest, bytes_of_parameter(t.value_bytes), {level, l.data});
    m.weights += whole_bytes(logits + whole);
    m.stash = whole_bytes(layers * kept);
  }
  return made;
}

}  // namespace ashlar
