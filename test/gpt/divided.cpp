// A block in parts.
#include "gpt/divided.hpp"

#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace {

gpt::stage_parameters<float const> stage_of_divided(gpt::worker<float> const& w) {
  gpt::carver<float const> from(w.weights(0).data());
  return {from, gpt::shape_of(w.shape(), 0)};
}

std::vector<float> some_stream(std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i * 7919 % 101) / 50 - 1;
  return values;
}

gpt::array<float> aligned_copy(std::vector<float> const& values) {
  gpt::array<float> copied(values.size());
  std::copy(values.begin(), values.end(), copied.data());
  return copied;
}

}  // namespace

TEST_CASE("sequences come to the same bits in whatever parts they are taken") {
  gpt::config shape = gpt_test::small(1);
  shape.sequences = 7;
  gpt::worker<float> const w(shape, 3);
  gpt::block<float const> const weights = stage_of_divided(w).blocks[0];
  auto const stream_of = [&](gpt::array<float> const& data) {
    return gpt::matrix<float>{data.data(), shape.rows(), shape.width, shape.width};
  };
  std::vector<float> const input = some_stream(stream_of({}).size());
  gpt::array<float> const whole = aligned_copy(input);
  gpt::carver<float> measure;
  gpt::block_stash<float>(measure, shape);
  gpt::array<float> const stash(measure.used());
  gpt::carver<float> from(stash.data());
  weights.forward(shape, gpt::block_stash<float>(from, shape), stream_of(whole));

  for (std::vector<int> const& parts :
       {std::vector{7}, {4, 3}, {3, 4}, {1, 1, 1, 1, 1, 1, 1}, {2, 5}, {6, 1}}) {
    gpt::array<float> const divided = aligned_copy(input);
    for (gpt::block_half half : {gpt::block_half::attention, gpt::block_half::mlp}) {
      std::size_t most = 0;
      for (int part : parts) most = std::max(most, gpt::workspace_of<float>(shape, half, part));
      gpt::array<float> workspace(most);
      gpt::forward_in_parts<float>(shape, weights, half, parts, stream_of(divided), workspace.span());
      CHECK_THROWS_AS(gpt::forward_in_parts<float>(shape, weights, half, std::vector{7},
                                                   stream_of(divided), workspace.span().first(most / 8)),
                      std::length_error);
    }
    CHECK(std::equal(divided.data(), divided.data() + divided.size(), whole.data()));
  }
}
