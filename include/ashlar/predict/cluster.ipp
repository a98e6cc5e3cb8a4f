// Definitions of cluster.hpp.
#pragma once

#include <ashlar/core/algorithm.hpp>
#include <ashlar/core/compiled.hpp>
#include <ashlar/predict/cluster.hpp>

namespace ashlar::predict {

ASHLAR_INLINE int domain_of(cluster const& c) {
  machine const& m = c.device;
  return min_of(m.domain, m.domain > m.per_node ? c.devices : m.per_node);
}

}  // namespace ashlar::predict
