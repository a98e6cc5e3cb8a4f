#include <ashlar/cost/model/adapter_forms.hpp>
// The header above comes first: it needs nothing before it.

#include <doctest/doctest.h>

namespace ashlar::cost::testing {

namespace {

// A matrix of 160 x 96 with adapters of peft 0.21, whose operations PyTorch's counter has counted.
constexpr adapted_matrix matrix_of_160{.in = 96, .out = 160};

struct counted {
  double forward = 0, backward = 0;

  friend bool operator==(counted, counted) = default;
};

// Operations of a token, or of a pass whatever its tokens are.
counted operations(adapter_form const& form, bool are_of_tokens) {
  counted sum;
  for (adapter_product const& each : form.products) {
    if ((each.m == 0) != are_of_tokens) continue;
    double const one = 2 * (are_of_tokens ? 1 : each.m) * each.n * each.k * each.count,
                 runs = passes_of(each);
    bool const is_forward = each.runs != adapter_pass::backward;
    sum.forward += is_forward ? one : 0;
    sum.backward += one * (is_forward ? runs - 1 : runs);
  }
  return sum;
}

void must_be(adapter_kind kind, int rank, double parameters, counted of_token, counted once) {
  CAPTURE(static_cast<int>(kind));
  adapter_form const form = form_of({.rank = rank, .kind = kind}, matrix_of_160);
  CHECK(form.parameters == parameters);
  CHECK(operations(form, true) == of_token);
  CHECK(operations(form, false) == once);
}

}  // namespace

TEST_CASE("adapter forms: parameters and operations of peft's own layers") {
  must_be(adapter_kind::low_rank, 8, 2048, {4096, 8192}, {});
  must_be(adapter_kind::singular_values, 8, 2056, {4096, 8192}, {});
  must_be(adapter_kind::rotations, 8, 336, {1536, 3072}, {36864, 73728});
  must_be(adapter_kind::shared_matrices, 8, 168, {4096, 4096}, {});
  must_be(adapter_kind::summed_inputs, 8, 1280, {2560, 5120}, {});
  must_be(adapter_kind::blocks_of_weights, 8, 1280, {0, 30720}, {245760, 245760});
  must_be(adapter_kind::factors, 1, 160, {}, {});
  must_be(adapter_kind::multiplied_pairs, 8, 4096, {30720, 61440}, {491520, 1474560});
  must_be(adapter_kind::kronecker, 8, 272, {30720, 61440}, {});
  must_be(adapter_kind::kronecker, 2, 136, {30720, 61440}, {768, 1536});
  must_be(adapter_kind::spectrum, 50, 50, {30720, 61440}, {});
  // The blocks' equations take another 12288 of the backward.
  must_be(adapter_kind::butterflies, 8, 928, {18432, 36864}, {5308416, 5308416});
}

TEST_CASE("adapter forms: what dropout before magnitudes runs again") {
  adapters const of{.rank = 8, .kind = adapter_kind::magnitudes};
  adapters drops = of;
  drops.drops_inputs = true;
  counted const without = operations(form_of(of, matrix_of_160), true),
                with = operations(form_of(drops, matrix_of_160), true);
  CHECK(with.forward - without.forward == 2 * 96 * 160);
  CHECK(with.backward - without.backward == 2 * 96 * 160);
  CHECK(operations(form_of(of, matrix_of_160), false) == counted{2 * 8 * 96.0 * (96 + 160), 0});
}

TEST_CASE("adapter forms: one pair of matrices serves all") {
  CHECK(shared_bytes({.rank = 8, .kind = adapter_kind::shared_matrices}, 96, 160) == 4 * 8 * 256);
  CHECK(shared_bytes({.rank = 8}, 96, 160) == 0);
  CHECK(form_of({.rank = 8, .kind = adapter_kind::butterflies}, matrix_of_160).held == 4 * 96 * 96);
}

}  // namespace ashlar::cost::testing
