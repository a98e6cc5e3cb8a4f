// Where the slots of a device lie in one allocation.
#pragma once

#include <ashlar/program/slot_sizes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ashlar {

// The type of a buffer's elements; needed for sums.
enum class element_type : unsigned char { opaque, f16, bf16, f32, f64 };

// Bytes of an element; 0 of an opaque one.
constexpr std::size_t bytes_of(element_type element) {
  switch (element) {
    case element_type::f16:
    case element_type::bf16:
      return 2;
    case element_type::f32:
      return 4;
    case element_type::f64:
      return 8;
    case element_type::opaque:
      break;
  }
  return 0;
}

// The shard for elements of that type. Elements of two bytes are cut at the same places as those of
// four, so a shard of weights that passes read in bf16 matches the shard of the gradient in f32.
constexpr byte_range shard_of(std::size_t bytes, int rank, int ranks, element_type element) {
  if (bytes_of(element) != 2) return shard_of(bytes, rank, ranks);
  byte_range const twice = shard_of(2 * bytes, rank, ranks);
  return {twice.begin / 2, twice.size / 2};
}

// The layout of a value, given by a worker. The alignment is a power of two.
struct value_layout {
  std::size_t bytes = 0;
  std::size_t alignment = 64;
  element_type element = element_type::opaque;
};

// The layout of a value on a data-parallel rank: the worker's, but a gradient shard is the rank's part
// of the whole gradient, a scalar a double, and a value on the host as on the device.
template <class Layout>
constexpr value_layout layout_on(program_view const& p, int rank, value_key key, Layout layout) {
  if (key.kind == slot_kind::scalar) return {sizeof(double), 64, element_type::f64};
  if (is_on_host(key.kind)) key.kind = on_device(key.kind);
  if (key.kind != slot_kind::gradient_shard) return layout(key);
  key.kind = slot_kind::weight_gradient;
  value_layout part = layout(key);
  part.bytes = shard_of(part.bytes, rank, p.data_ranks, part.element).size;
  return part;
}

// The size of each slot in bytes, and its offset in an allocation of `total` bytes that is aligned to
// `alignment`; slots on the host lie in one of `host_total` bytes.
struct slot_table {
  std::vector<std::int64_t> size;
  std::vector<std::size_t> offset;
  std::size_t total = 0;
  std::size_t alignment = 64;
  std::size_t host_total = 0;
};

// Each slot starts a cache line of its own. `layout(value_key)` is the worker's. The program must be
// proved.
template <class Layout>
constexpr slot_table slot_layout(program_view const& p, int rank, int device, Layout layout) {
  slot_table t{
      slot_sizes(p, device, [&](value_key const& v) { return layout_on(p, rank, v, layout).bytes; }),
      {}};
  for (std::int64_t const needed : slot_sizes(
           p, device, [&](value_key const& v) { return layout_on(p, rank, v, layout).alignment; })) {
    std::size_t const unit = needed > 64 ? static_cast<std::size_t>(needed) : 64;
    std::size_t& total = is_on_host(p.slots_of(device)[t.offset.size()]) ? t.host_total : t.total;
    t.offset.push_back((total + unit - 1) / unit * unit);
    total = t.offset.back() + static_cast<std::size_t>(t.size[t.offset.size() - 1]);
    if (unit > t.alignment) t.alignment = unit;
  }
  return t;
}

}  // namespace ashlar
