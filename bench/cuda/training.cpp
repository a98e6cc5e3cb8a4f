// The GPT on one GPU that virtual devices share: steps issued anew and replayed, the schedule's
// prediction from pass times, and memory. Options and their defaults: --precision float (or bf16),
// --devices 1,2,4,8, --width 1024, --blocks 8, --heads 16, --context 512, --sequences 2, --micro-batches
// 16, --steps 5.
#include "measuring.hpp"
#include <ashlar/run/pass_times.hpp>

#include <gpt/batch.hpp>
#include <gpt/config.hpp>
#include <gpt_cuda/worker.hpp>

#include <cstdint>
#include <memory>
#include <random>

using namespace bench_cuda;

namespace {

struct setting {
  gpt::config shape;
  int steps = 5;
  char const* precision = "float";
};

gpt::batch random_batch(gpt::config const& shape) {
  std::mt19937 next(1);
  gpt::batch b;
  for (int i = 0; i < shape.tokens(); ++i) {
    b.inputs.push_back(static_cast<gpt::token>(next() % 256));
    b.targets.push_back(static_cast<gpt::token>(next() % 256));
  }
  return b;
}

program training_program(schedule const& s) {
  lower_options options;
  options.step = optimizer_step::after_norm;
  return lower(s, options);
}

// A worker, and the memory that it took.
template <class T>
struct model {
  double before = used_bytes();
  gpt_cuda::worker<T> worker;
  double after = used_bytes();

  model(gpt::config const& shape, program const& what)
      : worker(shape, 1, gpt_cuda::site_in(what, 0, [](int) { return 0; })) {
    worker.set_batch(random_batch(shape));
    worker.set_optimizer({.rate = 1e-4});
    after = used_bytes();
  }
};

// Pass times from steps of one micro-batch, of which one pass runs at a time: nobody else is on the GPU.
template <class T>
costs profiled(setting const& of, named_block const& b, int p, gpt_cuda::worker<T>& w) {
  program const what = training_program(schedule_of(b, p, 1));
  cuda::runtime r(what, w, {.mode = cuda::issue_mode::eager, .record = true, .gpus = {0}});
  pass_timing timing(what.stage_count());
  for (int k = 0; k < of.steps + 2; ++k) {
    r.run();
    if (k >= 2) timing.add(what.view(), r.times(), [](int, int) { return true; });
  }
  return costs(timing.times().costs(/*tick_ns=*/1));
}

template <class T>
void measure(setting const& of, named_block const& b, schedule const& s, program const& what,
             model<T>& made) {
  int const p = s.device_count();
  gpt_cuda::worker<T>& w = made.worker;
  schedule const timed = retime(s, profiled(of, b, p, w));
  double work = 0;
  for (tick const one : busy(timed)) work += static_cast<double>(one) * 1e-6;
  double const predicted = static_cast<double>(makespan(timed)) * 1e-6;

  double slots = 0, highest = 0, eager = 0, replayed = 0;
  for (cuda::issue_mode const mode : {cuda::issue_mode::eager, cuda::issue_mode::replay}) {
    cuda::runtime r(what, w, {.mode = mode, .gpus = {0}});
    (mode == cuda::issue_mode::eager ? eager : replayed) = step_ms(r, of.steps);
    slots = static_cast<double>(r.slot_bytes());
    highest = std::max(highest, used_bytes());
  }
  std::printf(
      "| %s | %s | %d | %.2f | %.2f | %.0f | %.2f | %.3f | %.2f | %.2f | %.0f | %.0f | %.0f | %.4f |\n",
      b.name, of.precision, p, eager, replayed, 1e3 * w.shape().tokens() / replayed, work,
      replayed / work, predicted, work / predicted, mib(made.after - made.before), mib(slots),
      mib(highest - made.after), w.loss());
  std::fflush(stdout);
}

// Schedules with the same stages on the same devices share a model: to make one takes long.
template <class T>
void measure_all(setting of, std::vector<int> const& devices, int m) {
  of.shape.micro_batches = m;
  for (int const p : devices) {
    std::unique_ptr<model<T>> made;
    for (named_block const& b : blocks) {
      schedule const s = schedule_of(b, p, m);
      if (s.stage_count() > of.shape.blocks) continue;
      program const what = training_program(s);
      if (!made || made->worker.shape().stages != s.stage_count()) {
        made.reset();
        of.shape.stages = s.stage_count();
        made = std::make_unique<model<T>>(of.shape, what);
      }
      measure(of, b, s, what, *made);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  arguments const a(argc, argv);
  setting of;
  of.shape.width = a.number("--width", 1024);
  of.shape.blocks = a.number("--blocks", 8);
  of.shape.heads = a.number("--heads", 16);
  of.shape.context = a.number("--context", 512);
  of.shape.sequences = a.number("--sequences", 2);
  of.steps = a.number("--steps", 5);
  int const m = a.number("--micro-batches", 16);
  bool const in_bf16 = a.word("--precision", "float") == "bf16";
  of.precision = in_bf16 ? "bf16" : "float";
  say_where();
  std::printf(
      "Width %d, %d blocks, context %d, %d sequences in each of %d micro-batches, optimizer and "
      "clipping "
      "included.\n\n",
      of.shape.width, of.shape.blocks, of.shape.context, of.shape.sequences, m);
  std::printf(
      "| schedule | precision | devices | eager step ms | replayed step ms | tokens/s replayed | sum of "
      "passes, each alone, ms | replayed / sum | predicted step with a GPU each ms | predicted speedup "
      "| "
      "parameters and scratch MiB | slots MiB | measured beside parameters MiB | loss |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  std::vector<int> const devices = a.numbers("--devices", {1, 2, 4, 8});
  in_bf16 ? measure_all<gpt_cuda::bf16>(of, devices, m) : measure_all<float>(of, devices, m);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
