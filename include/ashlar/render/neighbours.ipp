// Definitions of neighbours.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/render/neighbours.hpp>

namespace ashlar::render_detail {

ASHLAR_INLINE std::string neighbours(site const& s, std::size_t size, char const* between,
                                     function_ref<std::string(std::size_t)> name_of_index) {
  auto const at = static_cast<std::size_t>(s.index);
  std::size_t const begin = at < 3 ? 0 : at - 3, end = min_of(size, at + 4);
  std::string line = "\n  device " + std::to_string(s.device) + ":" + (begin > 0 ? " ..." : "");
  for (std::size_t i = begin; i < end; ++i) {
    line += i == begin ? " " : between;
    line += i == at ? "[" + name_of_index(i) + "]" : name_of_index(i);
  }
  return line + (end < size ? " ..." : "");
}

ASHLAR_INLINE std::string with_neighbours(
    diagnosis const& d, int device_count, char const* between,
    function_ref<std::size_t(std::size_t)> size_of,
    function_ref<std::string(std::size_t, std::size_t)> name_of_index, std::string text) {
  for (site const& s : {d.first, d.second}) {
    if (s.device < 0 || s.device >= device_count || s.index < 0) continue;
    auto const device = static_cast<std::size_t>(s.device);
    std::size_t const size = size_of(device);
    if (static_cast<std::size_t>(s.index) >= size) continue;
    text += neighbours(s, size, between, [&](std::size_t i) { return name_of_index(device, i); });
  }
  return text;
}

}  // namespace ashlar::render_detail
