// Memory that a device needs on its GPU besides slots and parameters.
#pragma once

#include "kernels/adam.hpp"
#include "kernels/column_sums.hpp"
#include "kernels/squares.hpp"
#include "matmul.hpp"
#include "slots.hpp"
#include <ashlar/cuda/handles.hpp>

#include <gpt/config.hpp>
#include <gpt/embedding.hpp>

#include <algorithm>
#include <cstddef>

namespace gpt_cuda {

// Scratch of a device's compute lane, whose passes run one after the other.
template <class T>
struct pass_scratch {
  std::byte* products;  // workspace
  // A fused backward uses up the gradients of a block before it makes those of the next but one.
  stage_gradients<T> gradients;
  T* merged;           // rows x width: the gradient of the merged heads
  float* along;        // sequences x heads x context: its product with them
  float* logits;       // rows x vocabulary
  float* row_losses;   // by row
  float* column_sums;  // see column_sum_scratch()
  double* squares;     // square_pieces for each group

  pass_scratch(carver& from, gpt::config const& shape)
      : products(take<std::byte>(from, 1, static_cast<int>(gpt_cuda::products::workspace_bytes))),
        gradients(from, gpt::stage_shape{shape, 0, 0, shape.blocks, true, true}, 2),
        merged(take<T>(from, shape.rows(), shape.width)),
        along(take<float>(from, shape.heads, shape.rows())),
        logits(take<float>(from, shape.rows(), gpt::vocabulary)),
        row_losses(take<float>(from, 1, shape.rows())),
        column_sums(take<float>(from, 1, static_cast<int>(most_column_sums(shape)))),
        squares(take<double>(from, shape.groups(), square_pieces)) {}

 private:
  static std::size_t most_column_sums(gpt::config const& shape) {
    int const rows = shape.rows();
    return std::max({column_sum_scratch(rows, shape.width, 2),
                     column_sum_scratch(rows, shape.hidden(), 1),
                     column_sum_scratch(rows, gpt::vocabulary, 1)});
  }
};

// Memory that the host writes before a step, or reads after it.
struct step_memory {
  gpt::token* inputs;     // of the step, micro-batch after micro-batch
  gpt::token* targets;    // likewise
  double* losses;         // by micro-batch; zeros where the last stage is not here
  double* squares;        // of the norm of the gradient
  adam_numbers* numbers;  // of the optimizer

  step_memory(carver& from, gpt::config const& shape)
      : inputs(take<gpt::token>(from, 1, shape.tokens())),
        targets(take<gpt::token>(from, 1, shape.tokens())),
        losses(take<double>(from, 1, shape.micro_batches)),
        squares(take<double>(from, 1, 1)),
        numbers(take<adam_numbers>(from, 1, 1)) {}
};

// A device of the program, on the GPU that was current. Several on one GPU compute at the same time:
// each has its own.
template <class T>
struct device_scratch {
  ashlar::cuda::device_memory memory;
  carver from;
  pass_scratch<T> pass;
  step_memory step;
  gpt_cuda::products products;

  explicit device_scratch(gpt::config const& shape)
      : memory(bytes_of<pass_scratch<T>>(shape) + bytes_of<step_memory>(shape)),
        from(memory.data()),
        pass(from, shape),
        step(from, shape),
        products(pass.products) {
    ashlar::cuda::clear(step.losses, sizeof(double) * static_cast<std::size_t>(shape.micro_batches));
    ashlar::cuda::clear(step.squares, sizeof(double));
  }
};

}  // namespace gpt_cuda
