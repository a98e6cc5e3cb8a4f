// Measures how much of the time of transfers is hidden while passes compute, and the cost of looking
// after them.
//
// mpirun -n 2 bench_mpi_overlap [ms of a pass] [bytes of a message] [steps]. `eager-1f1b` on two
// devices, whose transfers have a pass's time each. A step with messages of some bytes is the floor: any
// longer time with large ones is not hidden. `blocking` is the time of the same messages with nothing to
// do in between. Passes are busy, or sleep, as if they were computed elsewhere; they look at nothing, or
// at the transfers ten times a pass.
#include <ashlar/catalog/entries.hpp>
#include <ashlar/lower/lower.hpp>
#include <ashlar/mpi/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace ashlar;
using clock_type = std::chrono::steady_clock;

// Dependent multiplications.
void multiply(long count) {
  double volatile start = 1.000001;
  double x = start;
  for (long i = 0; i < count; ++i) x = x * 0.999999 + 1e-6;
  start = x;
}

// How many of them take a microsecond when nobody disturbs.
double per_microsecond() {
  double most = 0;
  for (int i = 0; i < 200; ++i) {
    auto const begin = clock_type::now();
    multiply(100'000);
    most = std::max(most,
                    1e5 / std::chrono::duration<double, std::micro>(clock_type::now() - begin).count());
  }
  return most;
}

struct computer {
  std::size_t bytes;
  double us;     // of a pass
  double speed;  // multiplications in a microsecond; 0: elsewhere
  int tiles;

  value_layout layout(value_key key) const {
    bool const sent = key.kind == slot_kind::activation || key.kind == slot_kind::gradient;
    return {sent ? bytes : sizeof(double), 64, element_type::f64};
  }
  void compute(auto& q) const {
    for (int t = 0; t < tiles; ++t) {
      if (speed > 0)
        multiply(static_cast<long>(us * speed / tiles));
      else if (us > 0)
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us / tiles));
      if (tiles > 1) q.progress();
    }
  }
  void forward(auto& q, frame const&) { compute(q); }
  void backward(auto& q, frame const&) { compute(q); }
};

// The fastest of the steps, in ms: the others tell of the rest of the machine.
double step_ms(program const& p, computer w, mpi::run_options const& o, int steps) {
  mpi::runtime runtime(MPI_COMM_WORLD, p, w, o);
  std::vector<double> all;
  for (int step = 0; step < steps + 2; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    auto const begin = clock_type::now();
    runtime.run();
    if (step >= 2)
      all.push_back(std::chrono::duration<double, std::milli>(clock_type::now() - begin).count());
  }
  return *std::min_element(all.begin(), all.end());
}

int measure(int argc, char** argv) {
  auto const argument = [&](int n, double otherwise) {
    return argc > n ? std::atof(argv[n]) : otherwise;
  };
  double const ms = argument(1, 5);
  auto const bytes = static_cast<std::size_t>(argument(2, 1 << 20));
  int const steps = static_cast<int>(argument(3, 11)), m = 16;
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  program const p = catalog::find("eager-1f1b")->make({devices{2}, micro_batches{m}})
                    | lower({.slots = slot_reuse::never});
  if (me == 0)
    std::printf(
        "passes of %.1f ms, messages of %zu bytes, fastest of %d steps in ms\n"
        "| passes | transfers make progress | floor | step | blocking | hidden "
        "|\n|---|---|---:|---:|---:|---:|\n",
        ms, bytes, steps);
  double const blocking =
      step_ms(p, {bytes, 0, 0, 1}, {}, steps) - step_ms(p, {sizeof(double), 0, 0, 1}, {}, steps);
  struct way {
    char const* name;
    int tiles;
    mpi::run_options options;
  };
  using std::chrono::microseconds;
  for (bool busy : {false, true})
    for (way const& how : {way{"between passes only", 1, {.progress = mpi::progress_by::nobody}},
                           way{"between 10 tiles of a pass", 10, {.progress = mpi::progress_by::nobody}},
                           way{"a thread, every 20 us", 1, {.period = microseconds(20)}},
                           way{"a thread, every 100 us", 1, {.period = microseconds(100)}},
                           way{"a thread, every 500 us", 1, {.period = microseconds(500)}}}) {
      double const speed = busy ? per_microsecond() : 0;
      double const floor = step_ms(p, {sizeof(double), 1000 * ms, speed, how.tiles}, how.options, steps);
      double const step = step_ms(p, {bytes, 1000 * ms, speed, how.tiles}, how.options, steps);
      if (me == 0)
        std::printf("| %s | %s | %.2f | %.2f | %.2f | %.0f %% |\n", busy ? "busy" : "elsewhere",
                    how.name, floor, step, blocking, 100 * (1 - (step - floor) / blocking));
      std::fflush(stdout);
    }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return ashlar::mpi::launch(argc, argv, [&] { return measure(argc, argv); });
}
