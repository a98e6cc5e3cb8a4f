#include <ashlar/cost/model/architecture.hpp>
// The header above comes first: it needs nothing before it.

#include "predicted_runs.hpp"

#include <doctest/doctest.h>

// The names of predict/ are those of other rooms, too: tests are among them.
namespace ashlar::cost::testing {

TEST_CASE("architecture: parameters of Llama 3 8B, by hand") {
  architecture a;
  a.hidden = 4096;
  a.vocabulary = 128256;
  layer l{.mix = attends(32, 8, 128),
          .feed = {.kind = feed_forward_kind::dense, .is_gated = true, .width = 14336}};
  l.mix.beside = l.feed.beside = 4096;  // a norm
  for (int i = 0; i < 32; ++i) a.add(l);
  a.beside = 4096;
  CHECK(a.kinds.size() == 1);
  double const attention = 2 * 4096 * 4096 + 2 * 4096 * 1024;
  double const each = attention + 3 * 4096 * 14336 + 2 * 4096;
  CHECK(parameters(a) == 32 * each + 4096 + 2 * 4096 * 128256.0);
  CHECK(parameters(a) == 8030261248.0);
  CHECK(active_parameters(a) == parameters(a));
  a.is_tied = true;
  CHECK(parameters(a) == 8030261248.0 - 4096 * 128256.0);
}

TEST_CASE("architecture: a token meets its experts alone") {
  architecture const a = routed_model(3);
  double const attention = 2 * 1024 * 1024 + 2 * 1024 * 512, dense = 3 * 1024 * 4096;
  double const beside = 1024 * 16 + 3 * 1024 * 512, expert = 3 * 1024 * 512;
  double const tables = 2 * 1024 * 32000;
  CHECK(parameters(a) == 3 * attention + dense + 2 * (beside + 16 * expert) + tables);
  CHECK(active_parameters(a) == 3 * attention + dense + 2 * (beside + 2 * expert) + tables);
  CHECK(a.has_experts());
  CHECK(!a.has_state_space());
}

TEST_CASE("architecture: an indexer reads compressed queries and hidden values, by hand") {
  architecture a;
  a.hidden = 7168;
  mixer m{.kind = mixer_kind::compressed,
          .heads = 128,
          .q_rank = 1536,
          .kv_rank = 512,
          .nope = 128,
          .rope = 64,
          .value_head = 128};
  double const without = mixer_matrices(a, m);
  m.chosen = 2048;
  CHECK(mixer_matrices(a, m) == without);  // another layer's choice
  m.index_heads = 64;
  m.index_head = 128;
  CHECK(index_matrices(a, m) == 1536 * 64 * 128 + 7168 * 128 + 7168 * 64.0);
  CHECK(mixer_matrices(a, m) == without + index_matrices(a, m));
  a.vocabulary = 1000;
  a.add({.mix = m});
  double const s = 8192, span = 2048 * (1 - 2048 / (2 * s));
  double const met = parameters(a) - a.table_parameters(),
               scores = 2 * span * 128 * (2 * 512 + 64) + 2.0 / 3 * s / 2 * 64 * 128;
  CHECK(step_operations(a, 8192, 1)
        == doctest::Approx((6 * met - 4 * index_matrices(a, m) + 3 * scores) * s));
  a.kinds[0].mix.chosen = 1e6;  // all keys, as they are compressed
  CHECK(attention_span(8192, a.kinds[0].mix) == s / 2);
}

TEST_CASE("architecture: compressed attention of DeepSeek-V3, by hand") {
  architecture a;
  a.hidden = 7168;
  mixer const m{.kind = mixer_kind::compressed,
                .heads = 128,
                .q_rank = 1536,
                .kv_rank = 512,
                .nope = 128,
                .rope = 64,
                .value_head = 128};
  CHECK(mixer_matrices(a, m)
        == 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168.0);
}

TEST_CASE("architecture: predictors of further tokens are counted apart") {
  architecture a = dense_model(2);
  double const before = parameters(a);
  a.predictions = 2;
  CHECK(parameters(a) == before);
  double const block = layer_matrices(a, a.predictor, 0) + 2 * 1024 * 1024;
  CHECK(prediction_parameters(a) == 2 * block);
  a.repeats = true;
  CHECK(prediction_parameters(a) == block);
}

TEST_CASE("architecture: an embedding of its own width is projected") {
  architecture a = dense_model(1);
  double const before = parameters(a);
  a.embedding = 512;
  CHECK(parameters(a) == before - 2 * 512 * 32000.0 + 2 * 512 * 1024);
}

}  // namespace ashlar::cost::testing
