// The reference: a program's passes one after another on the calling thread, without its slots,
// transfers and lanes.
#pragma once

#include <ashlar/check.hpp>
#include <ashlar/host/memory.hpp>
#include <ashlar/run.hpp>
#include <ashlar/sharing.hpp>

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

namespace ashlar::host {

// Every value has memory of its own. Only two things are taken from the program: which passes there are,
// and the order in which each device adds micro-batches to its accumulators; replicas are summed in the
// order of the routes. So the results are, bit by bit, what the program must give on any backend.
template <worker Worker>
class sequential {
 public:
  // Throws violation with check(p).
  sequential(program p, Worker& w) : program_(std::move(p)), worker_(w) {
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
    // Device after device as far as its inputs reach, until all are through: a program that is proved
    // does not get stuck.
    std::vector<std::size_t> next(static_cast<std::size_t>(program_.device_count()), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (int d = 0; d < program_.device_count(); ++d)
        moved = advance(d, next[static_cast<std::size_t>(d)]) || moved;
    }
    for (int stage = 0; stage < program_.stage_count() && program_.trains; ++stage) {
      std::vector<int> const group = replicas(program_.where, stage);
      buffer const sum = accumulator(group[0], stage);
      for (std::size_t i = 1; i < group.size(); ++i)
        worker_.accumulate(stage, sum, accumulator(group[i], stage));
      for (std::size_t i = 0; i < group.size(); ++i) worker_.reduced(stage, sum);
    }
  }

 private:
  // (kind, micro-batch, stage, stage that it is for); accumulators have the device for a micro-batch.
  using key = std::tuple<slot_kind, int, int, int>;
  static constexpr int all = -1;

  bool advance(int device, std::size_t& next) {
    bool moved = false;
    list_view<instruction> const stream = program_.view().stream(device);
    for (; next < stream.size(); ++next) {
      instruction const& i = stream[next];
      if (i.code == opcode::compute && !try_compute(device, i.what)) return moved;
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
        if (!input({slot_kind::activation, k, before, all})) return false;
      if (!program_.graph.successors(stage).empty())
        outputs.push_back(make({slot_kind::activation, k, stage, all}));
    } else if (gives_input_gradient(what.kind)) {
      for (int after : program_.graph.successors(stage))
        if (!input({slot_kind::gradient, k, after, stage})) return false;
      for (int before : program_.graph.predecessors(stage))
        outputs.push_back(make({slot_kind::gradient, k, stage, before}));
      f.weight_stash = make({slot_kind::weight_stash, k, stage, all});
    } else if (what.kind == pass_kind::backward_weight) {
      f.weight_stash = make({slot_kind::weight_stash, k, stage, all});
    }
    if (what.kind == pass_kind::recompute || (what.kind == pass_kind::forward && is_recomputed(what)))
      f.checkpoint = make({slot_kind::checkpoint, k, stage, all});
    f.stash = make({slot_kind::stash, k, stage, all});
    if (gives_weight_gradient(what.kind)) f.weight_gradient = accumulator(device, stage);
    f.inputs = inputs;
    f.outputs = outputs;
    compute(worker_, f);
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
      found =
          memory_
              .emplace(k,
                       aligned(static_cast<std::size_t>(worker_.bytes(std::get<0>(k), std::get<2>(k)))))
              .first;
    return found->second.view();
  }
  buffer accumulator(int device, int stage) {
    return make({slot_kind::weight_gradient, device, stage, all});
  }

  program program_;
  Worker& worker_;
  std::vector<bool> recomputed_;  // by micro-batch and stage
  std::map<key, aligned> memory_;
};

}  // namespace ashlar::host
