// The memory of a device's slots: one allocation at a fixed address, as large as the proof says.
#pragma once

#include <ashlar/cuda/handles.hpp>
#include <ashlar/program/names.hpp>
#include <ashlar/program/slot_layout.hpp>
#include <ashlar/run/device_status.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar::cuda {

// The slots do not fit. The message says by how much, and how much memory there is.
class out_of_memory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The place for the slots of a device.
struct placed_slots {
  int number = 0;  // of the device
  int gpu = 0;
  slot_table slots;
};

// For example 1.5 GiB, 20 MiB, 512 bytes.
inline std::string bytes_in_words(std::size_t bytes) {
  std::array<char, 32> text{};
  double const b = static_cast<double>(bytes);
  if (bytes >= std::size_t{1} << 30)
    std::snprintf(text.data(), text.size(), "%.2f GiB", b / (1U << 30));
  else if (bytes >= std::size_t{1} << 20)
    std::snprintf(text.data(), text.size(), "%.1f MiB", b / (1U << 20));
  else
    std::snprintf(text.data(), text.size(), "%zu bytes", bytes);
  return text.data();
}

// `device 1: 3.00 GiB (8 × stash 2.00 GiB, ...)`, the largest kind first.
inline std::string needed_in_words(program_view const& p, placed_slots const& d) {
  list_view<slot_kind> const kinds = p.slots_of(d.number % p.device_count);
  std::map<slot_kind, std::pair<std::size_t, int>> by_kind;
  for (std::size_t slot = 0; slot < kinds.size(); ++slot) {
    auto& [bytes, count] = by_kind[kinds[slot]];
    bytes += static_cast<std::size_t>(d.slots.size[slot]);
    ++count;
  }
  std::multimap<std::size_t, std::string, std::greater<>> by_size;
  for (auto const& [kind, sum] : by_kind)
    if (sum.first > 0)
      by_size.emplace(sum.first, std::to_string(sum.second) + " × " + name_of(kind) + " "
                                     + bytes_in_words(sum.first));
  std::string text = name_of_device(p, d.number) + ": " + bytes_in_words(d.slots.total);
  char const* between = " (";
  for (auto const& [bytes, words] : by_size) {
    text += between + words;
    between = ", ";
  }
  return text + (by_size.empty() ? "" : ")");
}

// Throws out_of_memory unless all fit in the free memory of their GPUs.
inline void require_room(program_view const& p, std::vector<placed_slots> const& all) {
  std::map<int, std::pair<std::size_t, std::string>> by_gpu;
  for (placed_slots const& d : all) {
    auto& [bytes, text] = by_gpu[d.gpu];
    bytes += d.slots.total;
    text += (text.empty() ? "" : "; ") + needed_in_words(p, d);
  }
  for (auto const& [gpu, needed] : by_gpu) {
    on_gpu const here(gpu);
    std::size_t left = 0, total = 0;
    ASHLAR_CUDA(cudaMemGetInfo, &left, &total);
    if (needed.first > left)
      throw out_of_memory("GPU " + std::to_string(gpu) + " has " + bytes_in_words(left) + " left of "
                          + bytes_in_words(total) + ", but slots need " + bytes_in_words(needed.first)
                          + ": " + needed.second);
  }
}

// Allocates zeros.
inline device_memory make_arena(placed_slots const& d) {
  on_gpu const here(d.gpu);
  device_memory arena(d.slots.total);
  clear(arena.data(), d.slots.total);
  return arena;
}

}  // namespace ashlar::cuda
