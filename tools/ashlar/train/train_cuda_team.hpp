// The model on GPUs, and beside it on the host, for checkpoints and comparisons.
#pragma once

#include "train/train_job.hpp"
#include "train/train_team.hpp"
#include <ashlar/cuda/runtime.hpp>

#include <fmt/core.h>
#include <gpt_cuda/mirror.hpp>
#include <gpt_cuda/worker.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// T is the type of activations.
template <class T>
class cuda_team : public team<float> {
 public:
  // Devices take turns on `gpus`; there is one process without a job. Throws what the runtime and the
  // worker do.
  cuda_team(training const& t, std::vector<int> gpus, train_job* job)
      : cuda_team(t, gpus, job, t.devices() / (job ? job->size() : 1)) {}

  void run(step_plan const& plan) override {
    for (auto const& w : on_gpus_)
      if (w) w->set_optimizer(plan.optimizer);
    runtime_->run();
    if (plan.looked_at)
      for_each_rank([](worker& here, gpt_cuda::worker<T>& there) {
        gpt_cuda::copy_gradients_to_host(there, here);
      });
  }
  void unite(std::span<std::byte> bytes) override {
    if (job_ != nullptr) job_->unite(bytes);
  }
  void work(std::function<void()> const& act) override { act(); }
  void adopt() override {
    runtime_.reset();  // first: one program at a time has memory
    std::vector<gpt_cuda::worker<T>*> ranks;
    for (auto const& w : on_gpus_) ranks.push_back(w.get());
    if (group_)
      runtime_.emplace(*group_, t_->program, ranks, options_);
    else
      runtime_.emplace(t_->program, ranks, options_);
  }
  ashlar::value_layout layout(ashlar::value_key key) const override {
    return on_gpu(first_ / t_->program.device_count())->layout(key);
  }
  std::vector<ashlar::instruction_time> times() const override {
    if (!options_.record) return {};
    ashlar::program_view const& p = runtime_->view();
    std::size_t const all = p.instructions.size();
    std::vector<ashlar::instruction_time> times(all * static_cast<std::size_t>(p.data_ranks));
    std::size_t const first = static_cast<std::size_t>(first_ / p.device_count) * all
                              + static_cast<std::size_t>(stream_begin(p, first_ % p.device_count));
    std::copy(runtime_->times().begin(), runtime_->times().end(),
              times.begin() + static_cast<std::ptrdiff_t>(first));
    return times;
  }

  void fetch() override {
    for_each_rank([](worker& here, gpt_cuda::worker<T>& there) { gpt_cuda::copy_to_host(there, here); });
  }
  void deliver() override {
    for_each_rank(
        [](worker& here, gpt_cuda::worker<T>& there) { gpt_cuda::copy_from_host(here, there); });
  }
  void set_batch(int rank, gpt::batch tokens) override { on_gpu(rank)->set_batch(tokens); }
  std::vector<double> losses(int rank) const override {
    if (on_gpu(rank) != nullptr) return on_gpu(rank)->losses();
    return std::vector<double>(static_cast<std::size_t>(t_->shape.micro_batches), 0.0);
  }
  gpt::exact_sum squares() const override {
    double const norm = on_gpu(first_ / runtime_->view().device_count)->gradient_norm();
    gpt::exact_sum sum;
    if (leads()) sum.add(norm * norm);
    return sum;
  }
  // The step has done it.
  void update(gpt::adam_options const&, double) override {
    for (auto const& w : on_gpus_)
      if (w) w->set_updates(w->updates() + 1);
  }
  double tolerance() const override { return 1e-4; }
  std::vector<double> time_transfers(link_class which, probe what) override {
    if (which == link_class::between || t_->program.device_count() < 2) return {};
    return ashlar::measure::transfers_ns<ashlar::cuda::runtime>(what, options_);
  }
  std::vector<double> time_sums(probe what) override {
    return ashlar::measure::sums_ns<ashlar::cuda::runtime>(what, t_->devices(), options_);
  }
  processors computing() const override { return {gpu_count_, "GPU"}; }

 private:
  // `here`: the number of devices of each process.
  cuda_team(training const& t, std::vector<int> const& gpus, train_job* job, int here)
      : team<float>(t, job ? job->rank() * here : 0, here, job ? job->rank() : 0, job ? job->size() : 1),
        job_(job),
        t_(&t),
        first_(job ? job->rank() * here : 0) {
    std::vector<ashlar::cuda::local_device> devices;
    for (int i = 0; i < here; ++i) {
      int const turn = (job ? job->local_rank() * here : 0) + i;
      devices.push_back({first_ + i, gpus[static_cast<std::size_t>(turn) % gpus.size()]});
    }
    gpu_count_ = job ? t.devices() : std::min(here, static_cast<int>(gpus.size()));
    make_workers(t, devices);
    options_.mode =
        t.options->no_graph ? ashlar::cuda::issue_mode::eager : ashlar::cuda::issue_mode::replay;
    options_.record = t.options->times_instructions();
    options_.deadline = t.options->deadline_ms();
    for (ashlar::cuda::local_device const& d : devices) options_.gpus.push_back(d.gpu);
    if (job != nullptr)
      group_.emplace(job->share(ashlar::cuda::make_group_id), t.devices(), devices, options_.deadline);
    adopt();
  }

  void make_workers(training const& t, std::vector<ashlar::cuda::local_device> const& devices) {
    auto const gpu_of = [&](int number) {
      int const i = number - first_;
      return i >= 0 && i < static_cast<int>(devices.size()) ? devices[static_cast<std::size_t>(i)].gpu
                                                            : -1;
    };
    on_gpus_.resize(static_cast<std::size_t>(t.program.data_ranks));
    for (int rank = 0; rank < t.program.data_ranks; ++rank)
      if (of(rank) != nullptr)
        on_gpus_[static_cast<std::size_t>(rank)] = std::make_unique<gpt_cuda::worker<T>>(
            t.shape, t.options->seed, gpt_cuda::site_in(t.program, rank, gpu_of),
            t.options->verify ? gpt_cuda::gradients::kept : gpt_cuda::gradients::forgotten);
  }

  // Null where the rank has no device here.
  gpt_cuda::worker<T>* on_gpu(int rank) const { return on_gpus_[static_cast<std::size_t>(rank)].get(); }
  template <class Act>
  void for_each_rank(Act act) const {
    for (int rank = 0; rank < static_cast<int>(on_gpus_.size()); ++rank)
      if (on_gpu(rank) != nullptr) act(*of(rank), *on_gpu(rank));
  }

  train_job* job_;
  training const* t_;
  int first_;
  int gpu_count_ = 0;
  ashlar::cuda::run_options options_;
  std::vector<std::unique_ptr<gpt_cuda::worker<T>>> on_gpus_;  // by rank
  std::optional<ashlar::cuda::process_group> group_;
  std::optional<ashlar::cuda::runtime<gpt_cuda::worker<T>>> runtime_;
};

}  // namespace tool
