// The memory behind a device's slots.
#pragma once

#include <ashlar/program/program.hpp>
#include <ashlar/run/interpreter.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace ashlar::host {

// One aligned allocation, cut into slots. A slot is as large as the largest value that is ever written
// into it.
class slot_memory {
 public:
  static constexpr std::size_t alignment = 64;

  template <class Bytes>
  slot_memory(program_view const& p, int device, Bytes bytes) {
    list_view<slot_kind> const kinds = p.slots_of(device);
    std::vector<std::size_t> size(kinds.size(), 0);
    for (instruction const& i : p.stream(device))
      for (operand const& o : p.operands_of(i)) {
        if (o.how == access::read) continue;
        auto const slot = static_cast<std::size_t>(o.slot);
        std::size_t const need = kinds[slot] == slot_kind::scalar
                                     ? sizeof(double)
                                     : bytes(kinds[slot], i.group >= 0 ? i.group : i.what.stage);
        size[slot] = need > size[slot] ? need : size[slot];
      }
    std::size_t total = 0;
    for (std::size_t s : size) total += rounded(s);
    memory_.reset(
        static_cast<std::byte*>(::operator new (total + alignment, std::align_val_t{alignment})));
    std::memset(memory_.get(), 0, total);
    std::size_t at = 0;
    for (std::size_t slot = 0; slot < size.size(); ++slot) {
      slots_.emplace_back(memory_.get() + at, size[slot]);
      at += rounded(size[slot]);
    }
  }

  std::vector<buffer> const& slots() const { return slots_; }

 private:
  struct release {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{alignment}); }
  };
  static std::size_t rounded(std::size_t n) { return (n + alignment - 1) / alignment * alignment; }

  std::unique_ptr<std::byte, release> memory_;
  std::vector<buffer> slots_;
};

}  // namespace ashlar::host
