// The parameters of a model on the GPUs of a data-parallel rank.
#pragma once

#include "element.hpp"
#include "kernels/adam.hpp"
#include <ashlar/cuda/error.hpp>
#include <ashlar/cuda/handles.hpp>
#include <ashlar/model/parameter_groups.hpp>
#include <ashlar/program/program.hpp>

#include <gpt/config.hpp>
#include <gpt/model_parameters.hpp>
#include <gpt/stage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpt_cuda {

// The place of a worker in a program.
struct site {
  int rank = 0;                                // data-parallel
  bool sharded = false;                        // does it keep up no more than its shard?
  std::vector<std::vector<int>> holders = {};  // by group: its devices; empty: device 0 has all
  std::vector<int> gpus = {};                  // by device; -1: of another process; empty: all on GPU 0

  int gpu_of(int device) const { return gpus.empty() ? 0 : gpus.at(static_cast<std::size_t>(device)); }
  bool is_here(int device) const { return gpu_of(device) >= 0; }
  int devices() const {
    int count = 1;
    for (auto const& group : holders)
      for (int const device : group) count = std::max(count, device + 1);
    return count;
  }
};

// The site of a worker for a rank of a program. gpu_of(number) is the GPU of a device, by its number
// among those of all ranks, rank after rank; -1 if it is of another process.
template <class GpuOf>
site site_in(ashlar::program const& p, int rank, GpuOf gpu_of) {
  site s{rank, p.sharding != ashlar::sharding_level::none, {}, {}};
  for (int d = 0; d < p.device_count(); ++d) s.gpus.push_back(gpu_of(rank * p.device_count() + d));
  for (int g = 0; g < p.groups.count(); ++g) {
    ashlar::list_view<int> const holders = p.groups.holders(g);
    s.holders.emplace_back(holders.begin(), holders.end());
  }
  return s;
}

// Arrays of a group on the GPU of one holder, all in the layout of gpt::model_parameters<float>.
template <class T>
struct parameter_copy {
  ashlar::cuda::device_memory memory;
  int gpu = -1;               // -1: the group is not here
  float* weights = nullptr;   // that the optimizer steps
  float* first = nullptr;     // moment
  float* second = nullptr;    // moment
  float* gradient = nullptr;  // of the last step, if it is kept
  T* values = nullptr;        // what passes compute with: the weights, or
  bf16* shadow = nullptr;     // what they round to

  parameter_copy() = default;
  parameter_copy(std::size_t elements, int on, bool keeps_gradient) : gpu(on) {
    std::size_t const floats = (keeps_gradient ? 4 : 3) * elements;
    ashlar::cuda::on_gpu const here(gpu);
    memory = ashlar::cuda::device_memory(floats * sizeof(float)
                                         + (is_float<T> ? 0 : elements * sizeof(bf16)));
    weights = reinterpret_cast<float*>(memory.data());
    first = weights + elements;
    second = weights + 2 * elements;
    if (keeps_gradient) gradient = weights + 3 * elements;
    if constexpr (is_float<T>)
      values = weights;
    else
      values = shadow = reinterpret_cast<bf16*>(weights + floats);
    ashlar::cuda::clear(memory.data(), memory.size());
  }
};

// Each holder of a group has a copy: all make the same steps. Reads and writes from the host wait for
// the GPU; they are for in between steps.
template <class T>
class parameters {
 public:
  // Starts with the values of gpt::model_parameters<float>. Throws std::invalid_argument if there is no
  // such model, ashlar::cuda::error if it does not fit on its GPUs.
  parameters(gpt::config const& shape, std::uint64_t seed, site s, bool keeps_gradients)
      : shape_(shape), site_(std::move(s)) {
    gpt::require_valid(shape);
    if (site_.holders.empty()) site_.holders.assign(index(shape.groups()), {0});
    for (int g = 0; g < shape.groups(); ++g) {
      std::vector<bool> only(index(shape.groups()), false);
      only[index(g)] = true;
      gpt::model_parameters<float> const initial(shape, seed, {0, false, {0}, only});
      std::size_t const size = initial.elements(g);
      parameters_ = initial.parameters();
      groups_.emplace_back(size);
      for (int const device : site_.holders.at(index(g))) {
        auto& copies = groups_.back().copies;
        if (site_.is_here(device))
          copies.emplace_back(size, site_.gpu_of(device), keeps_gradients);
        else
          copies.emplace_back();
      }
      set_weights(g, initial.weights(g));
    }
  }

  gpt::config const& shape() const { return shape_; }
  site const& where() const { return site_; }
  bool is_sharded() const { return site_.sharded; }
  // Number of parameters of the whole model.
  std::size_t count() const { return parameters_; }
  // Elements of a group, wherever it is kept.
  std::size_t elements(int group) const { return groups_.at(index(group)).elements; }
  int copies(int group) const { return static_cast<int>(groups_.at(index(group)).copies.size()); }
  bool holds(int group, int copy) const { return copy_of(group, copy).gpu >= 0; }
  // The first copy that is here; -1: none.
  int copy_here(int group) const {
    for (int c = 0; c < copies(group); ++c)
      if (holds(group, c)) return c;
    return -1;
  }
  // The copy that a device computes with; throws std::invalid_argument if it holds none.
  parameter_copy<T> const& on(int device, int group) const {
    auto const& holders = site_.holders.at(index(group));
    auto const at = std::ranges::find(holders, device);
    if (at == holders.end() || !holds(group, static_cast<int>(at - holders.begin())))
      throw std::invalid_argument("device " + std::to_string(device) + " has no copy of group "
                                  + std::to_string(group));
    return copy_of(group, static_cast<int>(at - holders.begin()));
  }
  parameter_copy<T> const& copy_of(int group, int copy) const {
    return groups_.at(index(group)).copies.at(index(copy));
  }
  // The elements of a group that this rank keeps up: all if the group is tied or nothing is sharded.
  std::pair<std::size_t, std::size_t> part(int group) const {
    std::size_t const all = elements(group) * sizeof(float);
    if (!site_.sharded || group >= shape_.stages) return {0, elements(group)};
    ashlar::byte_range const mine = ashlar::shard_of(all, site_.rank, shape_.data_ranks);
    return {mine.begin / sizeof(float), mine.size / sizeof(float)};
  }

  // These read a copy that is here, in the layout of gpt::model_parameters<float>. The gradient is that
  // of the last step, if it is kept.
  std::vector<float> weights(int group, int copy = 0) const {
    return read(group, copy_of(group, copy).weights);
  }
  std::vector<float> gradient(int group, int copy = 0) const {
    return read(group, copy_of(group, copy).gradient);
  }
  std::vector<float> first_moment(int group, int copy = 0) const {
    return read(group, copy_of(group, copy).first);
  }
  std::vector<float> second_moment(int group, int copy = 0) const {
    return read(group, copy_of(group, copy).second);
  }

  // These write to all copies that are here.
  void set_weights(int group, std::span<float const> values) {
    for (auto const& c : groups_.at(index(group)).copies) {
      write(group, c.weights, values);
      if (c.shadow == nullptr) continue;
      ashlar::cuda::on_gpu const here(c.gpu);
      round_to_bf16(elements(group), c.weights, c.shadow, nullptr);
      ASHLAR_CUDA(cudaDeviceSynchronize);
    }
  }
  void set_moments(int group, std::span<float const> first, std::span<float const> second) {
    for (auto const& c : groups_.at(index(group)).copies) {
      write(group, c.first, first);
      write(group, c.second, second);
    }
  }

 private:
  struct parameter_group {
    explicit parameter_group(std::size_t size) : elements(size) {}

    std::size_t elements;
    std::vector<parameter_copy<T>> copies;  // by holder
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  std::vector<float> read(int group, float const* from) const {
    if (from == nullptr) return {};
    std::vector<float> values(elements(group));
    ASHLAR_CUDA(cudaMemcpy, values.data(), from, values.size() * sizeof(float), cudaMemcpyDeviceToHost);
    return values;
  }
  void write(int group, float* to, std::span<float const> values) const {
    if (values.size() != elements(group))
      throw std::invalid_argument("group " + std::to_string(group) + " has "
                                  + std::to_string(elements(group)) + " elements, not "
                                  + std::to_string(values.size()));
    if (to != nullptr) ashlar::cuda::upload(to, values.data(), values.size_bytes());
  }

  gpt::config shape_;
  site site_;
  std::vector<parameter_group> groups_;
  std::size_t parameters_ = 0;
};

}  // namespace gpt_cuda
