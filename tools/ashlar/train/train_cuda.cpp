#include "train/train_cuda.hpp"

#include "command.hpp"
#include "report/counted.hpp"
#include "train/session_of.hpp"
#include "train/train_cuda_team.hpp"
#include "train/train_job_tcp.hpp"
#include "train/train_signals.hpp"
#include "train/training.hpp"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tool {

namespace {

std::string version_of(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

// Counts the GPUs; throws usage_error, saying what is lacking, unless there is one.
int gpus_here() {
  int driver = 0, toolkit = 0, count = 0;
  ASHLAR_CUDA(cudaDriverGetVersion, &driver);
  ASHLAR_CUDA(cudaRuntimeGetVersion, &toolkit);
  if (driver == 0)
    throw usage_error("--backend cuda: there is no NVIDIA driver on this machine, so no GPU either");
  cudaError_t const code = cudaGetDeviceCount(&count);
  if (code == cudaErrorInsufficientDriver)
    throw usage_error(fmt::format(
        "--backend cuda: the driver knows CUDA {}, and this ashlar was built with CUDA {}: it needs a "
        "newer driver",
        version_of(driver), version_of(toolkit)));
  if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
    throw usage_error("--backend cuda: there is no GPU on this machine");
  ashlar::cuda::require(code, "cudaGetDeviceCount");
  return count;
}

std::vector<int> gpus_of(train_options const& o) {
  int const count = gpus_here();
  std::vector<int> all = o.gpus;
  if (all.empty()) {
    all.resize(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
  }
  for (int const gpu : all)
    if (gpu >= count)
      throw usage_error(fmt::format("--gpus: there is no GPU {} here, only {} (counted from 0)", gpu,
                                    counted(count, "GPU")));
  return all;
}

void introduce_gpus(training const& t, std::vector<int> const& gpus, train_job const* job) {
  fmt::print("{}, steps {}\n",
             job ? fmt::format("{}, NCCL between them", counted(job->size(), "process"))
                 : counted(std::min(t.devices(), static_cast<int>(gpus.size())), "GPU"),
             t.options->no_graph ? "issued one instruction at a time" : "replayed from a graph");
}

// Throws an error that says what was lacking before the first step.
[[noreturn]] void say_what_is_lacking(ashlar::cuda::error const& e) {
  if (e.call() == "cudaMalloc")
    throw usage_error(
        fmt::format("--backend cuda: the GPUs lack the memory for parameters: {}", e.what()));
  if (e.call().starts_with("nccl"))
    throw run_error(fmt::format("{}; NCCL needs a GPU of its own for each device", e.what()));
  throw run_error(e.what());
}

template <class T>
int train_with(training& t, std::vector<int> const& gpus, train_job* job) {
  std::optional<cuda_team<T>> all;
  try {
    if (t.options->repeats == 0) introduce_gpus(t, gpus, job);
    all.emplace(t, gpus, job);
  } catch (ashlar::cuda::out_of_memory const& e) {
    throw usage_error(fmt::format("--backend cuda: {}", e.what()));
  } catch (ashlar::cuda::error const& e) {
    say_what_is_lacking(e);
  }
  try {
    return session_of<float>(t, *all);
  } catch (ashlar::cuda::stalled const& e) {
    throw run_error(e.what());
  } catch (ashlar::cuda::error const& e) {
    throw run_error(e.what());
  }
}
int train_with(training& t, std::vector<int> const& gpus, train_job* job) {
  return t.options->precision == "bf16" ? train_with<gpt_cuda::bf16>(t, gpus, job)
                                        : train_with<float>(t, gpus, job);
}

// The training that all processes agree on, or the error with which they end: the first tells it if all
// have it.
training agreed_training(train_options const& o, std::vector<int>& gpus, train_job& job) {
  std::optional<training> t;
  std::exception_ptr error;
  std::string said;
  try {
    if (o.repeats > 0)
      throw usage_error("profile --backend cuda measures the GPUs of one process: start it alone");
    gpus = gpus_of(o);
    t.emplace(training_of(o));
    if (t->devices() % job.size() != 0)
      throw usage_error(
          fmt::format("--backend cuda needs as many devices on each process, and there are {} "
                      "on {}: start {}, or a divisor of that",
                      counted(t->devices(), "device"), counted(job.size(), "process"), t->devices()));
    if (int const here = t->devices() / job.size(); here > static_cast<int>(gpus.size()))
      throw usage_error(fmt::format(
          "--backend cuda: NCCL needs a GPU for each of the {} of a process, and there {} {}",
          counted(here, "device"), gpus.size() == 1 ? "is" : "are", gpus.size()));
  } catch (usage_error const& e) {
    said = e.what();
    error = std::current_exception();
  } catch (...) {
    error = std::current_exception();
  }
  int const failed = job.count_of(error != nullptr);
  if (failed == job.size() && !said.empty()) throw agreed_error(said);
  if (error && (job.rank() == 0 || failed < job.size())) std::rethrow_exception(error);
  if (failed > 0) throw reported_elsewhere{};
  return std::move(*t);
}

// Some processes wait between steps while others write, or compare with the host: longer than a step may
// stall.
std::unique_ptr<train_job> job_of(train_options const& o) {
  std::chrono::milliseconds const timeout = 10 * o.deadline_ms();
  if (auto job = job_over_mpi(timeout)) return job;
  auto const place = ashlar::cuda::launch_place_from_environment();
  if (!place || place->size < 2) return nullptr;
  try {
    return std::make_unique<tcp_job>(*place, timeout);
  } catch (ashlar::cuda::rendezvous_failed const& e) {
    throw run_error(fmt::format("process {}: {}", place->rank, e.what()));
  }
}

int train_in_job(train_options const& o, train_job& job) {
  if (o.restart > 0)
    throw usage_error("--restart starts no other processes on GPUs: leave that to their launcher");
  if (job.rank() != 0) {  // process 0 prints
    reports_signals = 0;
    if (std::freopen("/dev/null", "w", stdout) == nullptr) throw run_error("cannot open /dev/null");
  }
  std::string const self = fmt::format("process {}: ", job.rank());
  try {
    stop_on_signals();
    std::vector<int> gpus;
    training t = agreed_training(o, gpus, job);
    int const code = train_with(t, gpus, &job);
    job.finish();
    return code;
  } catch (agreed_error const& e) {
    job.finish();
    if (job.rank() != 0) throw reported_elsewhere{e.code};
    throw;
  } catch (usage_error const& e) {
    throw usage_error(self + e.what());
  } catch (run_error const& e) {
    throw run_error(self + e.what());
  } catch (ashlar::cuda::rendezvous_failed const& e) {
    throw run_error(self + e.what());
  }
}

}  // namespace

int train_on_cuda(train_options const& o) {
  if (auto const job = job_of(o)) return train_in_job(o, *job);
  stop_on_signals();
  std::vector<int> const gpus = gpus_of(o);
  training t = training_of(o);
  return train_with(t, gpus, nullptr);
}

}  // namespace tool
