// Runs a program on GPUs, for workers of any class.
#pragma once

#include <ashlar/core/nth.hpp>
#include <ashlar/cuda/agreement.hpp>
#include <ashlar/cuda/issuer.hpp>
#include <ashlar/cuda/nccl.hpp>
#include <ashlar/cuda/options.hpp>
#include <ashlar/cuda/peer.hpp>
#include <ashlar/cuda/step.hpp>
#include <ashlar/cuda/watch.hpp>
#include <ashlar/run/able.hpp>
#include <ashlar/run/identity.hpp>
#include <ashlar/run/program_source.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ashlar::cuda {

// Runs one step at a time, as runtime says.
class engine {
 public:
  using workers = std::vector<worker_ref<device::queue>>;

  engine(program_source p, workers ranks, run_options options)
      : program_(std::move(p.prove())),
        view_(program_.view()),
        workers_(std::move(ranks)),
        options_(std::move(options)) {
    start();
  }
  // Runs the devices of a process group.
  engine(process_group& group, program_source p, workers ranks, run_options options)
      : program_(std::move(p.prove())),
        view_(program_.view()),
        workers_(std::move(ranks)),
        options_(std::move(options)) {
    start(group);
  }

  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;

  ~engine() {
    if (!failed_ && steps_ > 0) {
      try {
        finish();
      } catch (std::exception const&) {  // finish() has left what may never end
      }
    }
  }

  void run() {
    enqueue();
    finish();
  }

  void enqueue() {
    guarded([&] {
      watch_->begins();
      auto const act = [this] { put_on_streams(); };
      auto const look = [this] { watch_->look(steps_ + 1); };
      transport_->guarded(act, look);
      ++steps_;
    });
  }

  void finish() {
    guarded([&] {
      watch_->begins();
      auto const begin = watch::clock::now();
      while (!step_->is_over()) {
        if (watch::clock::now() - begin < std::chrono::microseconds(500)) continue;  // short steps
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        watch_->look(steps_);
      }
      read_times();
    });
  }

  std::vector<instruction_time> const& times() const { return times_; }
  program_view const& view() const { return view_; }
  std::size_t slot_bytes() const {
    std::size_t sum = 0;
    for (auto const& m : members_) sum += m->arena.size();
    return sum;
  }
  std::size_t host_slot_bytes() const {
    std::size_t sum = 0;
    for (auto const& m : members_) sum += m->away.size();
    return sum;
  }
  wait_counts waits() const { return count_waits(view_, members_); }

 private:
  static std::vector<int> all_gpus() {
    int count = 0;
    ASHLAR_CUDA(cudaGetDeviceCount, &count);
    if (count == 0) throw std::invalid_argument("there is no GPU");
    std::vector<int> all;
    for (int g = 0; g < count; ++g) all.push_back(g);
    return all;
  }

  void require_workers(std::vector<local_device> const& here) {
    if (static_cast<int>(workers_.size()) != view_.data_ranks)
      throw std::invalid_argument("a program of " + std::to_string(view_.data_ranks)
                                  + " data-parallel ranks needs as many workers, not "
                                  + std::to_string(workers_.size()));
    for (local_device const& d : here)
      if (int const rank = d.number / view_.device_count; !nth(workers_, rank))
        throw std::invalid_argument("rank " + std::to_string(rank)
                                    + " has a device here, but no worker");
    for (worker_ref<device::queue> const w : workers_)
      if (w) check_able<device>(view_, w);
  }

  worker_ref<device::queue> worker_of(int number) const {
    return nth(workers_, number / view_.device_count);
  }

  auto layout_on(int number) const {
    return [w = worker_of(number)](value_key key) { return w.layout(key); };
  }

  void make_members(std::vector<local_device> const& devices) {
    std::vector<placed_slots> placed;
    for (local_device const& d : devices) {
      auto const layout = layout_on(d.number);
      placed.push_back({d.number, d.gpu,
                        slot_layout(view_, d.number / view_.device_count, d.number % view_.device_count,
                                    layout_function(layout))});
    }
    require_room(view_, placed);
    for (placed_slots const& d : placed) {
      on_gpu const here(d.gpu);
      device_memory arena = make_arena(d);
      pinned_memory away(d.slots.host_total);
      auto const layout = layout_on(d.number);
      device_plan plan(view_, d.number / view_.device_count, d.number % view_.device_count,
                       layout_function(layout), d.slots, arena.data(), wait_detail::last_of_a_lane,
                       away.data());
      progress_marks marks(plan, d.gpu);
      instruction_ranges ranges(plan, d.number);
      members_.push_back(std::make_unique<member>(
          member{d.number, d.gpu, std::move(arena), std::move(away), std::move(plan), nullptr,
                 std::move(marks), std::move(ranges), std::nullopt, event::make()}));
    }
  }

  void start() {
    if (options_.gpus.empty()) options_.gpus = all_gpus();
    std::vector<local_device> all;
    std::vector<int> gpus;
    for (int n = 0; n < view_.device_count * view_.data_ranks; ++n) {
      gpus.push_back(options_.gpus[static_cast<std::size_t>(n) % options_.gpus.size()]);
      all.push_back({n, gpus.back()});
    }
    require_workers(all);
    make_members(all);
    transport_ = std::make_unique<peer_transport>(gpus);
    make_step();
  }

  void start(process_group& group) {
    if (group.size() != view_.device_count * view_.data_ranks)
      throw std::invalid_argument("a program of " + std::to_string(view_.device_count) + " devices and "
                                  + std::to_string(view_.data_ranks)
                                  + " data-parallel ranks needs a group of as many, not of "
                                  + std::to_string(group.size()));
    require_workers(group.devices());
    auto const layout = layout_on(group.devices().front().number);
    require_same(group, view_, identity_of(view_, layout_function(layout)), options_.deadline);
    make_members(group.devices());
    std::vector<device_plan const*> plans;
    for (auto& m : members_) plans.push_back(&m->plan);
    transport_ = std::make_unique<nccl_transport>(group, view_, plans, options_.sums);
    make_step();
  }

  void make_step() {
    std::size_t instructions = 0;
    for (auto& m : members_) {
      on_gpu const here(m->gpu);
      m->on = std::make_unique<device>(m->plan, m->number, m->number % view_.device_count, m->gpu,
                                       *transport_);
      auto const count = static_cast<std::size_t>(m->plan.size());
      if (options_.record) m->times.emplace(count);
      instructions += count;
    }
    if (options_.record) times_.resize(instructions);
    step_ = std::make_unique<step_streams>(members_);
    issuer_ = std::make_unique<issuer>(view_, workers_, members_, *transport_);
    watch_ = std::make_unique<watch>(view_, members_, *transport_, options_.deadline);
  }

  void put_on_streams() {
    bool const replays = options_.mode == issue_mode::replay && steps_ > 0;
    if (replays && !step_->is_captured()) step_->capture([&] { issuer_->issue(); });
    if (replays)
      step_->replay();
    else
      step_->issue([&] { issuer_->issue(); });
    step_->ends();
  }

  void guarded(function_ref<void()> act) {
    if (failed_) throw std::logic_error("a runtime that has failed cannot run another step");
    try {
      act();
    } catch (...) {
      failed_ = true;
      give_up();
      throw;
    }
  }

  // Ends what can be ended. Devices that have not ended soon keep their memory.
  void give_up() {
    transport_->abort();
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (auto& m : members_)
      if (!have_ended_by(end, m->on->streams())) return leave_all();
  }
  void leave_all() {
    for (auto& m : members_) m->leave();
    step_->leave();
    static_cast<void>(transport_.release());
  }

  void read_times() {
    std::size_t at = 0;
    if (options_.record)
      for (auto const& m : members_) {
        m->times->read(times_.data() + at);
        at += static_cast<std::size_t>(m->plan.size());
      }
  }

  program_source program_;
  program_view view_;
  workers workers_;  // by rank
  run_options options_;
  std::unique_ptr<transport> transport_;
  std::vector<std::unique_ptr<member>> members_;
  std::unique_ptr<step_streams> step_;
  std::unique_ptr<issuer> issuer_;
  std::unique_ptr<watch> watch_;
  std::vector<instruction_time> times_;
  std::uint64_t steps_ = 0;
  bool failed_ = false;
};

}  // namespace ashlar::cuda
