// Divisions of a model's layers into stages of almost equal length, or of lengths in proportion.
#pragma once

#include <ashlar/cost/layout/stage.hpp>
#include <ashlar/cost/question/question.hpp>

#include <vector>

namespace ashlar::cost {

// Divides as evenly as possible, with embedding and head as a layer each: the ends have the fewest
// layers. With more stages than that, each has a part of the chain and the last one the rest. Requires
// no more stages than parts of the chain, and a model and sizes of a question that check() accepts.
std::vector<stage> deal_evenly(architecture const& model, layout const& sizes);

// The chain that is divided into stages: embedding, each layer, all predictions, head; where losses
// spread, each prediction and each loss.
struct part_chain {
  int layers = 0, tables = 0;  // embedding and head: 1 of each, or 0
  int predictions = 0;         // of the model
  bool is_spread = false;

  // The chain of a model under a layout's `spreads_losses`.
  part_chain(architecture const& model, layout const& sizes);

  int count() const { return tables + layers + prediction_parts() + tables * loss_parts(); }
  // Parts `first` to `end` as a stage.
  stage stage_of(int first, int end) const;
  // Each part as a stage.
  std::vector<stage> single_parts() const;
  // Where each stage ends, and the stages that end there. `all` have the chain in order.
  std::vector<int> ends_of(std::vector<stage> const& all) const;
  std::vector<stage> stages_of(std::vector<int> const& ends) const;

 private:
  int prediction_parts() const { return is_spread ? predictions : predictions > 0 ? 1 : 0; }
  int loss_parts() const { return is_spread ? 1 + predictions : 1; }
};

// Where stages end if one part moves from a stage to another, which shifts all between. Empty if nothing
// moves, there is no such stage, or a stage is left without a part.
std::vector<int> with_part_moved(std::vector<int> ends, int from, int to);

// Divides the chain, whose parts take `seconds` each, so that each stage's sum is as near as possible to
// its share, and every stage has a part.
std::vector<stage> deal_in_proportion(part_chain const& chain, std::vector<double> const& seconds,
                                      std::vector<double> const& shares);

// Divides into virtual stages. All stages of a round, one per device, have equally many layers, and
// those of the first rounds one more; the first and the last stage have at most one above that. Returns
// all ways. Requires a model and sizes of a question that check() accepts, with at least three stages.
std::vector<std::vector<stage>> deals_in_even_rounds(architecture const& model, layout const& sizes);

}  // namespace ashlar::cost
