#pragma once

#include <ashlar/schedule/metrics.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

// Device d holds peak(d) activations at most, and at some time that many.
template <class Peak>
void peaks_are(ashlar::schedule const& s, Peak peak) {
  std::vector<int> const found = ashlar::peak_activations(s);
  for (int d = 0; d < s.device_count(); ++d) CHECK(found[static_cast<std::size_t>(d)] == peak(d));
}
