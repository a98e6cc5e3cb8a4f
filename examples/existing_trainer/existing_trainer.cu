// A trainer that was there before: a small network, with kernels and a stream of its own. The second
// half makes a pipeline of it. Both train from the same weights, and end with the same bits.
// ASHLAR_KERNEL and launch() stand for __global__ and <<<>>>, so that tests can run this on a CPU.
#include <ashlar/cuda.hpp>
#include <ashlar/cuda/launch.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>

namespace {

using namespace ashlar::cuda;
// Layers y = tanh(x w). A micro-batch is `rows` samples.
constexpr int layers = 4, batches = 8, rows = 16, width = 32, steps = 60;
constexpr int cells = rows * width, weights = width * width;

ASHLAR_DEVICE int at() { return block_x() * threads() + thread(); }
ASHLAR_KERNEL layer(float const* x, float const* w, float* y) {
  float sum = 0;
  for (int k = 0; k < width; ++k) sum += x[at() / width * width + k] * w[k * width + at() % width];
  y[at()] = tanhf(sum);
}
ASHLAR_KERNEL loss_of(float const* y, float const* target, float* dy, float* loss) {
  dy[at()] = y[at()] - target[at()];
  loss[at()] = dy[at()] * dy[at()] / 2;
}
ASHLAR_KERNEL slope(float const* dy, float const* y, float* dz) {
  dz[at()] = dy[at()] * (1 - y[at()] * y[at()]);
}
ASHLAR_KERNEL input_gradient(float const* dz, float const* w, float* dx) {
  float sum = 0;
  for (int c = 0; c < width; ++c) sum += dz[at() / width * width + c] * w[at() % width * width + c];
  dx[at()] = sum;
}
ASHLAR_KERNEL weight_gradient(float const* x, float const* dz, float* dw) {
  float sum = 0;
  for (int r = 0; r < rows; ++r) sum += x[r * width + at() / width] * dz[r * width + at() % width];
  dw[at()] += sum;
}
ASHLAR_KERNEL descend(float* w, float const* dw) { w[at()] -= 3e-3F * dw[at()]; }

struct array : device_memory {  // of floats on the GPU
  explicit array(int size) : device_memory(static_cast<std::size_t>(size) * sizeof(float)) {}
  array(int size, float scale, float speed) : array(size) {
    std::vector<float> noise;
    for (int i = 0; i < size; ++i) noise.push_back(scale * std::sin(speed * static_cast<float>(i * i)));
    upload(data(), noise.data(), this->size());
  }
  float* at(int i) const { return reinterpret_cast<float*>(data()) + i; }
  std::vector<float> read() const {
    std::vector<float> to(size() / sizeof(float));
    ASHLAR_CUDA(cudaMemcpy, to.data(), data(), size(), cudaMemcpyDeviceToHost);
    return to;
  }
};
struct trainer {
  array x{batches * cells, 1, 0.37F}, target{batches * cells, 0.5F, 0.37F}, losses{batches * cells};
  array w{layers * weights, 0.3F, 1.7F}, dw{layers * weights};
  array made{layers * cells}, dy{cells}, dz{cells};  // of one micro-batch
  stream own = stream::make();

  // Makes a step as before: one layer after another, on a stream.
  void step() {
    cudaStream_t const s = own.get();
    ASHLAR_CUDA(cudaMemsetAsync, dw.data(), 0, dw.size(), s);
    for (int b = 0; b < batches; ++b) {
      auto const y = [&](int l) { return l == 0 ? x.at(b * cells) : made.at((l - 1) * cells); };
      for (int l = 0; l < layers; ++l)
        launch(layer, {rows}, width, 0, s, y(l), w.at(l * weights), y(l + 1));
      float* const loss = losses.at(b * cells);
      launch(loss_of, {rows}, width, 0, s, y(layers), target.at(b * cells), dy.at(0), loss);
      for (int l = layers - 1; l >= 0; --l) {
        launch(slope, {rows}, width, 0, s, dy.at(0), y(l + 1), dz.at(0));
        launch(input_gradient, {rows}, width, 0, s, dz.at(0), w.at(l * weights), dy.at(0));
        launch(weight_gradient, {width}, width, 0, s, y(l), dz.at(0), dw.at(l * weights));
      }
    }
    launch(descend, {layers * width}, width, 0, s, w.at(0), dw.at(0));
    ASHLAR_CUDA(cudaStreamSynchronize, s);
  }
  float loss() const {
    std::vector<float> const all = losses.read();
    return std::accumulate(all.begin(), all.end(), 0.0F);
  }
};

// The pipeline: a device for each layer, under a schedule that is proved while this is compiled.
using namespace ashlar;
constexpr auto make = [] {
  return catalog::zb_h1(devices{layers}) | repeat(micro_batches{batches}) | squeeze() | lower();
};
static_assert(valid<make>());

struct pipelined {
  trainer& of;

  value_layout layout(value_key key) const {  // the stash holds x and y
    int const size = key.kind == slot_kind::weight_gradient ? weights : 2 * cells;
    return {.bytes = static_cast<std::size_t>(size) * sizeof(float), .element = element_type::f32};
  }
  static float* floats(buffer b) { return reinterpret_cast<float*>(b.data()); }
  static void copy(float* to, float const* from, queue const& q) {
    ASHLAR_CUDA(cudaMemcpyAsync, to, from, cells * sizeof(float), cudaMemcpyDefault, q.stream);
  }
  void forward(queue& q, frame const& f) {
    float *const x = floats(f.stash), *const y = x + cells;
    copy(x, f.inputs.empty() ? of.x.at(f.what.micro_batch * cells) : floats(f.inputs[0]), q);
    launch(layer, {rows}, width, 0, q.stream, x, of.w.at(f.what.stage * weights), y);
    if (!f.outputs.empty()) copy(floats(f.outputs[0]), y, q);
  }
  void backward_input(queue& q, frame const& f) {
    int const l = f.what.stage, at = f.what.micro_batch * cells;
    float *const y = floats(f.stash) + cells, *const dz = floats(f.weight_stash);
    float* const dy = f.inputs.empty() ? dz : floats(f.inputs[0]);
    if (f.inputs.empty())
      launch(loss_of, {rows}, width, 0, q.stream, y, of.target.at(at), dy, of.losses.at(at));
    launch(slope, {rows}, width, 0, q.stream, dy, y, dz);
    if (f.outputs.empty()) return;
    launch(input_gradient, {rows}, width, 0, q.stream, dz, of.w.at(l * weights), floats(f.outputs[0]));
  }
  void backward_weight(queue& q, frame const& f) {
    launch(weight_gradient, {width}, width, 0, q.stream, floats(f.stash), floats(f.weight_stash),
           floats(f.weight_gradient));
  }
  void reduced(queue& q, parameter_frame const& f) {
    launch(descend, {width}, width, 0, q.stream, of.w.at(f.group * weights), floats(f.gradient));
  }
};

}  // namespace

int main() try {
  trainer before, after;
  pipelined worker{after};
  runtime engine(freeze<make>, worker, {.gpus = {0}});  // all devices on the first GPU
  before.step(), engine.run();
  float const first = after.loss();
  for (int k = 1; k < steps; ++k) before.step(), engine.run();
  bool const same = before.w.read() == after.w.read(), learns = after.loss() < first / 2;
  std::printf("loss %.3f, after %d steps %.3f; the weights of both trainings are %s\n", first, steps,
              after.loss(), same ? "bitwise equal" : "different");
  return same && learns ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
