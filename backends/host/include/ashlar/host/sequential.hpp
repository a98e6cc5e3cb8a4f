// The reference: a program's passes one after another on the calling thread, without its slots,
// transfers and lanes.
#pragma once

#include <ashlar/check/check.hpp>
#include <ashlar/host/memory.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/run/interpreter.hpp>

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace ashlar::host {

// Every value has memory of its own. Only two things are taken from the program: which passes there are,
// and the order in which each device adds micro-batches to its accumulators, scatter by scatter. Sums
// over replicas and data-parallel ranks are in their order. So the results are, bit by bit, what the
// program must give on any backend.
template <worker Worker>
class sequential {
 public:
  // Throws violation with check(p).
  sequential(program p, Worker& w) : sequential(std::move(p), std::vector<Worker*>{&w}) {}
  // The same for data-parallel ranks, a worker each. Throws std::invalid_argument unless there are as
  // many as the program has ranks, and when they lack shards that it needs.
  sequential(program p, std::vector<Worker*> ranks)
      : program_(std::move(p)), workers_(std::move(ranks)) {
    if (workers_.empty() || static_cast<int>(workers_.size()) != program_.data_ranks)
      throw std::invalid_argument("a worker a data-parallel rank is needed");
    if (is_sharded() && !sharding_worker<Worker>)
      throw std::invalid_argument("the worker has no shards");
    if (diagnosis const d = check(program_); !d.ok()) throw violation{d};
    recomputed_.resize(static_cast<std::size_t>(program_.micro_batch_count())
                       * static_cast<std::size_t>(program_.stage_count()));
    for (instruction const& i : program_.instructions)
      if (i.code == opcode::compute && i.what.kind == pass_kind::recompute)
        recomputed_[index_of(i.what)] = true;
  }

  // One step. Needs memory for all values of all micro-batches at once.
  void run() {
    memory_.clear();
    gather_weights();
    for (rank_ = 0; rank_ < workers_.size(); ++rank_) {
      parts_.clear();
      // Device after device as far as its inputs reach, until all are through: a program that is proved
      // does not get stuck.
      std::vector<std::size_t> next(static_cast<std::size_t>(program_.device_count()), 0);
      for (bool moved = true; moved;) {
        moved = false;
        for (int d = 0; d < program_.device_count(); ++d)
          moved = advance(d, next[static_cast<std::size_t>(d)]) || moved;
      }
    }
    if (program_.mode == execution_mode::inference) return;
    for (int stage = 0; stage < program_.stage_count(); ++stage) reduce(stage);
    take_steps();
  }

 private:
  // (kind, micro-batch, stage, stage that it is for, rank); accumulators have the device for a
  // micro-batch, and the number of scatters that came before.
  using key = std::tuple<slot_kind, int, int, int, std::size_t>;
  static constexpr int all = -1;

  bool is_sharded() const { return program_.sharding != sharding_level::none; }

  // The whole weights of every replica, the same for all ranks; kept at rank 0.
  void gather_weights() {
    if constexpr (sharding_worker<Worker>) {
      rank_ = 0;
      for (int stage = 0; stage < program_.stage_count() && is_sharded(); ++stage) {
        std::vector<int> const group = replicas(program_.where, stage);
        for (std::size_t replica = 0; replica < group.size(); ++replica) {
          buffer const whole = make({slot_kind::weight, group[replica], stage, all, 0});
          for (std::size_t r = 0; r < workers_.size(); ++r) {
            buffer const shard = workers_[r]->shard(stage, static_cast<int>(replica));
            if (!shard.empty())
              std::memcpy(part_of(whole, r).data(), shard.data(), part_of(whole, r).size());
          }
        }
      }
    }
  }
  buffer part_of(buffer whole, std::size_t rank) const {
    byte_range const part = shard_of(whole.size(), static_cast<int>(rank), program_.data_ranks);
    return whole.subspan(part.begin, part.size);
  }

  // Unsharded: replica by replica, the ranks in order. Sharded: of each replica, the parts in the order
  // of its scatters, each in the order of the ranks; then replica by replica. The sum is the memory of
  // the first replica, part and rank, and shards are cut out of it.
  void reduce(int stage) {
    std::vector<int> const group = replicas(program_.where, stage);
    buffer sum;
    for (int device : group) {
      buffer of_replica;
      for (int part = 0; memory_.contains({slot_kind::weight_gradient, device, stage, part, 0}); ++part)
        for (std::size_t r = 0; r < workers_.size(); ++r) {
          buffer const next = memory_.at({slot_kind::weight_gradient, device, stage, part, r}).view();
          buffer& into = is_sharded() ? of_replica : sum;
          if (into.data() == nullptr)
            into = next;
          else
            workers_[0]->accumulate(stage, into, next);
        }
      if (!is_sharded()) continue;
      if (sum.data() == nullptr)
        sum = of_replica;
      else
        workers_[0]->accumulate(stage, sum, of_replica);
    }
    gradients_.resize(static_cast<std::size_t>(program_.stage_count()));
    gradients_[static_cast<std::size_t>(stage)] = sum;
    for (std::size_t r = 0; r < workers_.size(); ++r)
      for (std::size_t i = 0; i < group.size(); ++i) workers_[r]->reduced(stage, gradient_of(stage, r));
  }
  buffer gradient_of(int stage, std::size_t rank) const {
    buffer const whole = gradients_[static_cast<std::size_t>(stage)];
    return is_sharded() ? part_of(whole, rank) : whole;
  }

  // Statistics are summed as programs sum them: by rank, by device, by stage in the order of reduction.
  void take_steps() {
    double sum = 0;
    for (std::size_t r = 0; r < workers_.size(); ++r)
      for (int d = 0; d < program_.device_count(); ++d) {
        double of_device = 0;
        if constexpr (measuring_worker<Worker>)
          for (instruction const& i : program_.view().stream(d))
            if (i.code == opcode::all_reduce && i.peer == 0 && (is_sharded() || r == 0))
              of_device += workers_[r]->squared_norm(i.what.stage, gradient_of(i.what.stage, r));
        sum += of_device;
      }
    for (std::size_t r = 0; r < workers_.size(); ++r)
      for (instruction const& i : program_.instructions) {
        if constexpr (measuring_worker<Worker>)
          if (i.code == opcode::statistics) workers_[r]->statistics(sum);
        if constexpr (optimizing_worker<Worker>)
          if (i.code == opcode::optimize)
            workers_[r]->optimize(i.what.stage, i.peer, gradient_of(i.what.stage, r));
      }
  }

  bool advance(int device, std::size_t& next) {
    bool moved = false;
    list_view<instruction> const stream = program_.view().stream(device);
    for (; next < stream.size(); ++next) {
      instruction const& i = stream[next];
      if (i.code == opcode::compute && !try_compute(device, i.what)) return moved;
      if (i.code == opcode::reduce_scatter) ++parts_[{device, i.what.stage}];
      moved = true;
    }
    return moved;
  }

  bool try_compute(int device, pass what) {
    int const k = what.micro_batch, stage = what.stage;
    std::vector<buffer> inputs, outputs;
    auto const input = [&](key const& from) {
      auto const found = memory_.find(from);
      if (found == memory_.end()) return false;
      inputs.push_back(found->second.view());
      return true;
    };
    frame f{};
    f.what = what;
    if (what.kind == pass_kind::forward) {
      for (int before : program_.graph.predecessors(stage))
        if (!input({slot_kind::activation, k, before, all, rank_})) return false;
      if (!program_.graph.successors(stage).empty())
        outputs.push_back(make({slot_kind::activation, k, stage, all, rank_}));
    } else if (gives_input_gradient(what.kind)) {
      for (int after : program_.graph.successors(stage))
        if (!input({slot_kind::gradient, k, after, stage, rank_})) return false;
      for (int before : program_.graph.predecessors(stage))
        outputs.push_back(make({slot_kind::gradient, k, stage, before, rank_}));
      f.weight_stash = make({slot_kind::weight_stash, k, stage, all, rank_});
    } else if (what.kind == pass_kind::backward_weight) {
      f.weight_stash = make({slot_kind::weight_stash, k, stage, all, rank_});
    }
    if (what.kind == pass_kind::recompute || (what.kind == pass_kind::forward && is_recomputed(what)))
      f.checkpoint = make({slot_kind::checkpoint, k, stage, all, rank_});
    f.stash = make({slot_kind::stash, k, stage, all, rank_});
    if (gives_weight_gradient(what.kind)) f.weight_gradient = accumulator(device, stage);
    if (is_sharded()) f.weight = make({slot_kind::weight, device, stage, all, 0});
    f.inputs = inputs;
    f.outputs = outputs;
    compute(*workers_[rank_], f);
    return true;
  }

  bool is_recomputed(pass what) const { return recomputed_[index_of(what)]; }
  std::size_t index_of(pass what) const {
    return static_cast<std::size_t>(what.micro_batch) * static_cast<std::size_t>(program_.stage_count())
           + static_cast<std::size_t>(what.stage);
  }

  class aligned {
   public:
    explicit aligned(std::size_t size)
        : size_(size),
          data_(static_cast<std::byte*>(
              ::operator new (size + 1, std::align_val_t{slot_memory::alignment}))) {
      std::memset(data_.get(), 0, size);
    }
    buffer view() const { return {data_.get(), size_}; }

   private:
    struct release {
      void operator()(std::byte* p) const {
        ::operator delete (p, std::align_val_t{slot_memory::alignment});
      }
    };
    std::size_t size_;
    std::unique_ptr<std::byte, release> data_;
  };

  // The memory of a value; zero when it is new.
  buffer make(key const& k) {
    auto found = memory_.find(k);
    if (found == memory_.end())
      found = memory_
                  .emplace(k, aligned(static_cast<std::size_t>(
                                  workers_[rank_]->bytes(std::get<0>(k), std::get<2>(k)))))
                  .first;
    return found->second.view();
  }
  buffer accumulator(int device, int stage) {
    return make({slot_kind::weight_gradient, device, stage, parts_[{device, stage}], rank_});
  }

  program program_;
  std::vector<Worker*> workers_;              // by rank
  std::size_t rank_ = 0;                      // whose passes run
  std::map<std::pair<int, int>, int> parts_;  // by device and stage: scatters so far
  std::vector<buffer> gradients_;             // by stage, complete
  std::vector<bool> recomputed_;              // by micro-batch and stage
  std::map<key, aligned> memory_;
};

}  // namespace ashlar::host
