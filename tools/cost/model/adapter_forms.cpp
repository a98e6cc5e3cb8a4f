#include <ashlar/cost/model/adapter_forms.hpp>

#include <utility>

namespace ashlar::cost {

namespace adapter_forms_detail {

using enum adapter_pass;

// The sum with the frozen result, in 16 bits, and that of the inputs' gradients.
inline adapter_form low_rank(double rank, double in, double out) {
  return {.parameters = rank * (in + out),
          .products = {{.n = rank, .k = in}, {.n = out, .k = rank}},
          .moved = {.forward = 6 * out, .backward = 6 * in},
          .reads_input = true,
          .kept = 2 * rank};
}

// Norms of the rows of W + B A take the product of both, by rows of an identity, and what reads and
// writes it: the identity in 32 bits; the product, scaled, added, and its norms, in 16. Both results are
// scaled, and their gradients are multiplied by them. Behind dropout the frozen product runs again.
inline adapter_form magnitudes(adapters const& of, double in, double out) {
  adapter_form made = low_rank(of.rank, in, out);
  made.parameters += out;
  made.products.push_back({.n = of.rank * 1.0, .k = in, .runs = forward, .m = in});
  made.products.push_back({.n = out, .k = of.rank * 1.0, .runs = forward, .m = in});
  made.moved.forward += 8 * out;
  made.moved.backward += 12 * out;
  made.moved.forward_once = 4 * in * in + 14 * in * out;
  made.unpacks_weights = true;
  made.kept += 4 * out;
  made.at_work = 2 * in * in + 6 * in * out;
  if (!of.drops_inputs) return made;
  made.products.push_back({.n = out, .k = in, .runs = one_gradient});
  made.kept += 3 * in;  // with a mask
  return made;
}

// Blocks are made by five terms of a series, which have three products. The input is cast to the 32
// bits of the adapter, and back for the product.
inline adapter_form rotations(double rows, double in) {
  return {.parameters = in * (rows - 1) / 2,  // what is above a block's diagonal
          .products = {{.n = rows, .k = rows, .count = in / rows},
                       {.n = rows, .k = rows, .m = rows, .count = 3 * in / rows}},
          .moved = {.forward = 12 * in, .backward = 18 * in},
          .kept = 2 * in,
          .kept_once = 14 * in * rows};  // powers of the blocks, and their sum
}

// b * (B (d * (A x))): the vectors train, in 32 bits, to which what they multiply is cast.
inline adapter_form shared_matrices(double rank, double in, double out) {
  return {.parameters = rank + out,
          .products = {{.n = rank, .k = in, .runs = one_gradient},
                       {.n = out, .k = rank, .runs = one_gradient}},
          .moved = {.forward = 12 * (in + rank) + 22 * out, .backward = 18 * in + 30 * rank + 40 * out},
          .kept = 2 * (rank + out),
          .kept_once = 2 * rank * (in + out)};
}

// Inputs are summed over blocks of `rank`, in 32 bits.
inline adapter_form summed_inputs(double rank, double in, double out) {
  return {.parameters = rank * out,
          .products = {{.n = out, .k = rank}},
          .moved = {.forward = 10 * (in + rank) + 16 * out, .backward = 16 * in + 18 * out},
          .kept = 2 * rank,
          .kept_once = 2 * rank * out};
}

// W + W B + B in blocks, which is multiplied in the place of W, so that it takes a gradient.
inline adapter_form blocks_of_weights(double rank, double in, double out) {
  return {.parameters = rank * out,
          .products = {{.n = out, .k = in, .runs = backward},
                       {.n = rank, .k = rank, .runs = one_gradient, .m = in * out / rank}},
          .moved = {.forward_once = 24 * in * out, .backward_once = 12 * in * out},
          .reads_input = true,
          .kept_once = 4 * in * out,
          .at_work = 6 * in * out};
}

// Factors of a matrix's results, in 32 bits, or of its inputs: of what leaves a feed-forward part.
inline adapter_form factors(adapted which, double in, double out) {
  bool const are_of_inputs = which == adapted::down;
  adapter_form made;
  made.parameters = are_of_inputs ? in : out;
  made.moved.forward = are_of_inputs ? 20 * in : 12 * out;
  made.moved.backward = are_of_inputs ? 36 * in : 34 * out;
  made.kept = are_of_inputs ? 4 * in : 2 * out;
  made.kept_once = 4 * made.parameters;
  return made;
}

// Adapters that make a whole matrix, which then meets the tokens.
inline adapter_form made_matrix(double in, double out) {
  return {.products = {{.n = out, .k = in}},
          .moved = {.forward = 6 * out, .backward = 6 * in},
          .kept_once = 2 * in * out};
}

// Two products of low rank, multiplied with each other; both run again in the backward.
inline adapter_form multiplied_pairs(double rank, double in, double out) {
  adapter_form made = made_matrix(in, out);
  made.parameters = 2 * rank * (in + out);
  made.products.insert(made.products.end(), 2, {.n = in, .k = rank, .m = out});
  made.products.insert(made.products.end(), 2, {.n = in, .k = rank, .runs = backward, .m = out});
  made.moved.forward_once = 10 * in * out;
  made.moved.backward_once = 16 * in * out;
  made.reads_input = true;
  made.at_work = 8 * in * out;
  return made;
}

// The two factors of a number that are nearest to each other, the smaller one first.
inline std::pair<double, double> near_factors(double number) {
  auto const whole = static_cast<long long>(number);
  long long small = 1;
  for (long long each = 1; each * each <= whole; ++each)
    if (whole % each == 0) small = each;
  return {static_cast<double>(small), number / static_cast<double>(small)};
}

// A product in which a small matrix has a large one for each of its elements, in 32 bits; the large one
// is of low rank unless that has more parameters.
inline adapter_form kronecker(double rank, double in, double out) {
  auto const [in_small, in_large] = near_factors(in);
  auto const [out_small, out_large] = near_factors(out);
  adapter_form made = made_matrix(in, out);
  made.parameters = in_small * out_small;
  if (rank < (in_large > out_large ? in_large : out_large) / 2) {
    made.parameters += rank * (in_large + out_large);
    made.products.push_back({.n = in_large, .k = rank, .m = out_large});
  } else {
    made.parameters += in_large * out_large;
  }
  made.moved.forward += 12 * in;
  made.moved.backward += 12 * in;
  made.moved.forward_once = 18 * in * out;
  made.moved.backward_once = 38 * in * out;
  made.kept = 2 * in;  // cast to 32 bits and back
  made.at_work = 14 * in * out;
  return made;
}

// Numbers at places of a spectrum, whose transform is complex, in 32 bits each.
inline adapter_form spectrum(double numbers, double in, double out) {
  adapter_form made = made_matrix(in, out);
  made.parameters = numbers;
  made.moved.forward += 12 * in;
  made.moved.backward += 12 * in;
  made.moved.forward_once = 46 * in * out;
  made.moved.backward_once = 50 * in * out;
  made.kept = 2 * in;
  made.kept_once += 16 * numbers;
  made.at_work = 20 * in * out;
  return made;
}

// A rotation of all inputs, as a whole matrix: blocks, between two permutations, by an identity. Factors
// of results, as above.
inline adapter_form butterflies(double rows, double in, double out) {
  adapter_form made = factors(adapted::none, in, out);
  made.parameters += in * rows;
  made.products = {{.n = in, .k = in}};
  made.products.insert(made.products.end(), 3, {.n = in, .k = in, .runs = one_gradient, .m = in});
  made.moved.forward_once = 18 * in * in;
  made.moved.backward_once = 8 * in * in;
  made.reads_input = true;
  made.kept_once += 6 * in * in + 12 * in * rows;
  made.at_work = 8 * in * in;
  made.held = 4 * in * in;
  return made;
}

}  // namespace adapter_forms_detail

adapter_form form_of(adapters const& of, adapted_matrix const& to) {
  using namespace adapter_forms_detail;
  double const rank = of.rank;
  switch (of.kind) {
    case adapter_kind::magnitudes:
      return magnitudes(of, to.in, to.out);
    case adapter_kind::singular_values: {
      adapter_form made = low_rank(rank, to.in, to.out);
      made.parameters += rank;
      return made;
    }
    case adapter_kind::rotations:
      return rotations(rank, to.in);
    case adapter_kind::shared_matrices:
      return shared_matrices(rank, to.in, to.out);
    case adapter_kind::summed_inputs:
      return summed_inputs(rank, to.in, to.out);
    case adapter_kind::blocks_of_weights:
      return blocks_of_weights(rank, to.in, to.out);
    case adapter_kind::factors:
      return factors(to.which, to.in, to.out);
    case adapter_kind::multiplied_pairs:
      return multiplied_pairs(rank, to.in, to.out);
    case adapter_kind::kronecker:
      return kronecker(rank, to.in, to.out);
    case adapter_kind::spectrum:
      return spectrum(rank, to.in, to.out);
    case adapter_kind::butterflies:
      return butterflies(rank, to.in, to.out);
    case adapter_kind::low_rank:
      break;
  }
  return low_rank(rank, to.in, to.out);
}

double shared_bytes(adapters const& of, double largest_in, double largest_out) {
  return of.kind == adapter_kind::shared_matrices ? 4 * of.rank * (largest_in + largest_out) : 0;
}

}  // namespace ashlar::cost
