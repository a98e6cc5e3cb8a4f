// Measures the cost of the backend itself: per instruction on the host when a step is issued anew, and
// between passes in a row when it is replayed. The worker does nothing, or starts a kernel that does
// nearly nothing. `--devices 1,2,4,8 --micro-batches 64 --steps 20`
#include "measuring.hpp"
#include "small_kernel.hpp"

using namespace bench_cuda;

namespace {

// A worker with messages of 4 KiB.
struct small_worker {
  bool starts_kernels;

  value_layout layout(value_key) const { return {.bytes = 4096, .element = element_type::f32}; }
  void forward(cuda::queue& q, frame const& f) { pass(q, f); }
  void backward(cuda::queue& q, frame const& f) { pass(q, f); }
  void backward_input(cuda::queue& q, frame const& f) { pass(q, f); }
  void backward_weight(cuda::queue& q, frame const& f) { pass(q, f); }

  void pass(cuda::queue& q, frame const& f) const {
    if (starts_kernels) small_kernel(reinterpret_cast<float*>(f.stash.data()), q.stream);
  }
};

// How many passes the schedule has one after the other; a fused backward is one.
int passes_in_a_row(schedule const& s, program const& what) {
  bool const fused =
      std::any_of(what.instructions.begin(), what.instructions.end(), [](instruction const& i) {
        return i.code == opcode::compute && i.what.kind == pass_kind::backward;
      });
  tick const pass = fused ? 2 : 1;
  stage_cost const one{.forward = pass, .backward_input = 1, .backward_weight = 1, .recompute = pass};
  costs const all(std::vector<stage_cost>(static_cast<std::size_t>(s.stage_count()), one));
  return static_cast<int>(makespan(retime(s, all)) / pass);
}

// Steps are put on the streams one after the other, and waited for at the end.
template <class Runtime>
double replayed_ms(Runtime& r, int steps) {
  for (int k = 0; k < 3; ++k) r.run();
  auto const begin = steady::now();
  for (int k = 0; k < steps; ++k) r.enqueue();
  r.finish();
  return ms_since(begin) / steps;
}

// Time on the GPU alone from a kernel's begin to the next one's, in a graph made by hand: kernels one
// after the other, or with a copy of 4 KiB between two of them, as between devices.
double chain_us(bool copies, int steps) {
  constexpr int links = 256;
  cuda::device_memory const here(4096), there(4096);
  cuda::stream const stream = cuda::stream::make();
  cudaGraph_t made{};
  ASHLAR_CUDA(cudaStreamBeginCapture, stream.get(), cudaStreamCaptureModeThreadLocal);
  for (int k = 0; k < links; ++k) {
    small_kernel(reinterpret_cast<float*>(here.data()), stream.get());
    if (copies)
      ASHLAR_CUDA(cudaMemcpyAsync, there.data(), here.data(), here.size(), cudaMemcpyDeviceToDevice,
                  stream.get());
  }
  ASHLAR_CUDA(cudaStreamEndCapture, stream.get(), &made);
  cuda::graph const captured(made);
  cudaGraphExec_t ready{};
  ASHLAR_CUDA(cudaGraphInstantiate, &ready, captured.get(), 0);
  cuda::executable_graph const chain(ready);
  std::vector<double> times;
  for (int k = 0; k < steps + 2; ++k) {
    auto const begin = steady::now();
    ASHLAR_CUDA(cudaGraphLaunch, chain.get(), stream.get());
    ASHLAR_CUDA(cudaStreamSynchronize, stream.get());
    if (k >= 2) times.push_back(1e3 * ms_since(begin) / links);
  }
  return median(times);
}

void measure(named_block const& b, int p, int m, int steps, bool kernels) {
  schedule const s = schedule_of(b, p, m);
  program const what = lower(s);
  small_worker worker{kernels};
  double const count = static_cast<double>(what.instructions.size());

  cuda::runtime eager(what, worker, {.mode = cuda::issue_mode::eager, .gpus = {0}});
  std::vector<double> host;
  for (int k = 0; k < steps + 2; ++k) {
    auto const begin = steady::now();
    eager.enqueue();
    if (k >= 2) host.push_back(ms_since(begin));
    eager.finish();
  }
  double const eager_ms = step_ms(eager, steps);
  auto const waits = eager.waits();

  cuda::runtime replay(what, worker, {.gpus = {0}});
  double const alone = step_ms(replay, steps), in_a_row = replayed_ms(replay, steps);
  int const passes = passes_in_a_row(s, what);
  std::printf("| %s | %d | %s | %.0f | %zu / %zu | %.2f | %.3f | %.3f | %.3f | %d | %.2f |\n", b.name, p,
              kernels ? "small kernels" : "nothing", count, waits.kept, waits.needed,
              1e3 * median(host) / count, eager_ms, alone, in_a_row, passes, 1e3 * in_a_row / passes);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  arguments const a(argc, argv);
  int const m = a.number("--micro-batches", 64), steps = a.number("--steps", 20);
  say_where();
  std::printf(
      "By hand, in a graph of one chain: %.2f us from a kernel to the next one, %.2f with a copy "
      "between.\n\n",
      chain_us(false, steps), chain_us(true, steps));
  std::printf("%d micro-batches.\n\n", m);
  std::printf(
      "| schedule | devices | worker | instructions | waits kept / without reduction | eager: host us "
      "per "
      "instruction | eager step ms | replayed step ms | replayed, steps in a row, ms | passes in a row "
      "| "
      "replayed us per pass in a row |\n|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (named_block const& b : blocks)
    for (int const p : a.numbers("--devices", {1, 2, 4, 8}))
      for (bool const kernels : {false, true}) measure(b, p, m, steps, kernels);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
