// The shape of the model and of the batch it is trained on.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpt {

// Tokens are bytes, so that any text will do and there is nothing to learn before training starts.
inline constexpr int vocabulary = 256;

// A range of tokens.
struct token_range {
  int first = 0;
  int count = vocabulary;

  constexpr bool has(int token) const { return token >= first && token < first + count; }
  friend constexpr bool operator==(token_range, token_range) = default;
};

// The place of a prediction layer (prediction.hpp). Its value is the number of stages that it takes from
// the blocks.
enum class prediction_place : unsigned char {
  with_head = 0,    // in the last stage, with the model's head
  behind_head = 1,  // alone in the last stage; the stage before has the head and hands on its stream
  beside_head = 2   // alone in the last stage; the stage before is the head alone; both read the trunk
};

struct config {
  int blocks = 8;          // transformer blocks, n
  int width = 96;          // channels of the residual stream
  int heads = 4;           // attention heads; each has width / heads channels
  int context = 64;        // tokens of a sequence
  int sequences = 2;       // sequences of a micro-batch
  int last_sequences = 0;  // of the last micro-batch, where it is shorter; 0: as many as of the others
  int micro_batches = 8;   // micro-batches of a step, m
  int stages = 4;          // pieces the model is cut into, S
  int shards = 0;          // last of them that each have a part of the head's vocabulary; 0: it is whole
  int input_shards = 0;  // first of them that each have a part of the embedding's tokens; 0: it is whole
  bool early = false;    // whether forwards of shards give the gradient of their input already
  int data_ranks = 1;    // that train together, each on a batch of its own
  bool tied = false;     // whether the head uses the embedding's matrix
  int experts = 0;       // in place of each MLP; 0: none
  int chosen = 2;        // of them for each token
  double balance = 0.01;  // weight of the loss that spreads tokens over experts, summed over blocks
  bool predicts = false;  // whether there is a prediction layer
  prediction_place predicted = prediction_place::with_head;
  double prediction = 0.3;  // weight of its loss

  static constexpr int most_experts = 64, most_chosen = 8;

  constexpr int sequences_of(int micro_batch) const {
    return last_sequences > 0 && micro_batch == micro_batches - 1 ? last_sequences : sequences;
  }
  // Tokens of a micro-batch, if not of the short one: the rows of every activation.
  constexpr int rows() const { return sequences * context; }
  // Tokens of a step of one rank.
  constexpr int tokens() const {
    return ((micro_batches - 1) * sequences + sequences_of(micro_batches - 1)) * context;
  }
  // The whole micro-batches that one counts as in the mean over all tokens.
  constexpr double share_of(int micro_batch) const {
    return static_cast<double>(sequences_of(micro_batch)) / sequences;
  }
  constexpr int head_width() const { return width / heads; }
  // Stages one after another, between the shards of the embedding and those of the head, or before those
  // that a prediction layer or the head has for itself.
  constexpr int chain() const { return stages - shards - input_shards - static_cast<int>(predicted); }
  // The tokens of one of `of` shards.
  static constexpr token_range tokens_of(int shard, int of) {
    int const first = shard * vocabulary / of;
    return {first, (shard + 1) * vocabulary / of - first};
  }
  // Parameters that are stepped as one: those of each stage, and what some of them tie.
  constexpr int groups() const { return stages + (tied ? 1 : 0); }
  // Channels between the two linear layers of the MLP.
  constexpr int hidden() const { return 4 * width; }
  // Hidden channels of one expert: a token then costs what it does in an MLP.
  constexpr int expert_hidden() const { return (hidden() + chosen - 1) / chosen; }
  // Tokens of a micro-batch that go through routers.
  constexpr int routed_rows() const { return experts > 0 ? rows() : 0; }
  // The MLP keeps this many rows; experts need none of them.
  constexpr int mlp_rows() const { return experts > 0 ? 0 : rows(); }

  friend constexpr bool operator==(config const&, config const&) = default;
};

// Throws std::invalid_argument, saying what is wrong, unless a model of this shape can be built.
inline void require_valid(config const& shape) {
  auto const at_least = [](int value, int least, char const* what) {
    if (value < least) {
      throw std::invalid_argument(std::string("the model needs at least ") + std::to_string(least) + ' '
                                  + what + ", not " + std::to_string(value));
    }
  };
  at_least(shape.blocks, 0, "blocks");
  at_least(shape.width, 1, "channels");
  at_least(shape.heads, 1, "heads");
  at_least(shape.context, 1, "tokens of context");
  at_least(shape.sequences, 1, "sequences in a micro-batch");
  at_least(shape.micro_batches, 1, "micro-batches");
  at_least(shape.last_sequences, 0, "sequences in the last micro-batch");
  if (shape.last_sequences > shape.sequences) {
    throw std::invalid_argument("the last micro-batch may be shorter than the others, not longer: "
                                + std::to_string(shape.last_sequences) + " sequences after "
                                + std::to_string(shape.sequences));
  }
  at_least(shape.stages, 1, "stages");
  at_least(shape.shards, 0, "shards of the head");
  at_least(shape.input_shards, 0, "shards of the embedding");
  if (shape.predicted != prediction_place::with_head) {
    if (!shape.predicts)
      throw std::invalid_argument("a stage of the prediction layer needs a model that has one");
    bool const beside = shape.predicted == prediction_place::beside_head;
    at_least(shape.stages, beside ? 3 : 2,
             beside ? "stages, the last for its prediction layer and one for its head"
                    : "stages, the last for its prediction layer");
  }
  at_least(shape.chain(), 1, "stages between shards");
  for (int const shards : {shape.shards, shape.input_shards})
    if (shards > vocabulary) {
      throw std::invalid_argument("a vocabulary of " + std::to_string(vocabulary)
                                  + " does not divide into " + std::to_string(shards) + " shards");
    }
  if (shape.shards + shape.input_shards > 0 && shape.tied) {
    throw std::invalid_argument("an embedding cannot be tied to a head where one of them is in shards");
  }
  at_least(shape.data_ranks, 1, "data-parallel ranks");
  if (shape.predicts) {
    if (!shape.tied) {
      throw std::invalid_argument(
          "a prediction layer reads the embedding where the head is: it needs the two tied");
    }
    if (shape.experts > 0) throw std::invalid_argument("a prediction layer has no experts");
    if (shape.context < 2) {
      throw std::invalid_argument("a prediction layer needs at least 2 tokens of context");
    }
  }
  at_least(shape.experts, 0, "experts");
  if (shape.experts > 0) {
    if (shape.last_sequences > 0) {
      throw std::invalid_argument("a model with experts needs micro-batches of one size");
    }
    at_least(shape.chosen, 1, "experts for each token");
    int const most = shape.experts < config::most_chosen ? shape.experts : config::most_chosen;
    if (shape.experts > config::most_experts || shape.chosen > most) {
      throw std::invalid_argument(
          "a model has at most " + std::to_string(config::most_experts)
          + " experts, and a token at most " + std::to_string(config::most_chosen) + " of them: not "
          + std::to_string(shape.chosen) + " of " + std::to_string(shape.experts));
    }
  }
  if (shape.width % shape.heads != 0) {
    throw std::invalid_argument("a width of " + std::to_string(shape.width) + " does not divide into "
                                + std::to_string(shape.heads) + " heads");
  }
}

// The mean over all tokens of a step, from the means of its micro-batches.
template <class Losses>
double mean_loss(config const& shape, Losses const& losses) {
  double total = 0, whole = 0;
  for (int k = 0; k < shape.micro_batches; ++k) {
    double const share = shape.share_of(k);
    total += share * losses[static_cast<std::size_t>(k)];
    whole += share;
  }
  return total / whole;
}

// The contents of one stage: blocks [first_block, first_block + blocks), and the two ends of the model.
struct stage_shape {
  config model;
  int stage = 0;
  int first_block = 0;
  int blocks = 0;
  bool first = true;           // also the embedding
  bool last = true;            // also the final norm, the head and the loss; last of the trunk
  int tokens = 0;              // of a step of one rank; the same for every micro-batch
  int shard = -1;              // of the head, by number; -1: a stage before them
  bool feeds_shards = false;   // also the final norm, for the shards of the head
  int input_shard = -1;        // of the embedding, by number; -1: a stage after them
  bool fed_by_shards = false;  // also the places of the embedding, whose tokens are in shards

  constexpr bool is_shard() const { return shard >= 0; }
  constexpr bool is_input_shard() const { return input_shard >= 0; }
  constexpr bool has_norm() const { return last || feeds_shards; }
  // Whether it is the prediction layer and nothing else; whether it has one.
  constexpr bool is_prediction() const {
    return model.predicted != prediction_place::with_head && stage + 1 == model.stages;
  }
  constexpr bool predicts() const {
    return model.predicted == prediction_place::with_head ? last && model.predicts : is_prediction();
  }
  // Whether a stage after it goes on from its output.
  constexpr bool has_output() const {
    return !is_prediction() && (!last || model.predicted == prediction_place::behind_head);
  }
  // Whether it uses what is tied.
  constexpr bool is_tied() const { return model.tied && (first || last || is_prediction()); }
  // Tokens of a step of one rank that have one after the next.
  constexpr int predicted_tokens() const { return tokens / model.context * (model.context - 1); }
  // Whether it has the embedding's tokens, some of them or its places.
  constexpr bool has_embedding() const { return first || fed_by_shards || is_input_shard(); }
  // The tokens of its part of the head, and of its part of the embedding.
  constexpr token_range head_tokens() const {
    return is_shard() ? config::tokens_of(shard, model.shards) : token_range{};
  }
  constexpr token_range embedding_tokens() const {
    return is_input_shard() ? config::tokens_of(input_shard, model.input_shards)
           : fed_by_shards  ? token_range{0, 0}
                            : token_range{};
  }
};

// Splits the chain: of its C stages, stage i has blocks [i n / C, (i + 1) n / C). With more stages than
// blocks, some have none and pass through.
constexpr stage_shape shape_of(config const& model, int stage) {
  int const chain = model.chain(), i = stage - model.input_shards;
  stage_shape s{.model = model, .stage = stage, .first = false, .last = false, .tokens = model.tokens()};
  if (i < 0) {
    s.input_shard = stage;
  } else if (i >= chain) {
    s.first_block = model.blocks;
    if (model.shards > 0) s.shard = i - chain;
    s.last = model.predicted == prediction_place::beside_head && i == chain;
  } else {
    s.first_block = i * model.blocks / chain;
    s.blocks = (i + 1) * model.blocks / chain - s.first_block;
    (model.input_shards > 0 ? s.fed_by_shards : s.first) = i == 0;
    if (model.predicted != prediction_place::beside_head)
      (model.shards > 0 ? s.feeds_shards : s.last) = i == chain - 1;
  }
  return s;
}

// The stages that use what is tied, ascending.
inline std::vector<int> tied_stages(config const& model) {
  std::vector<int> all;
  for (int i = 0; i < model.stages; ++i)
    if (shape_of(model, i).is_tied()) all.push_back(i);
  return all;
}

// The stage on the last micro-batch.
constexpr stage_shape on_last(stage_shape shape) {
  shape.model.sequences = shape.model.sequences_of(shape.model.micro_batches - 1);
  return shape;
}

}  // namespace gpt
