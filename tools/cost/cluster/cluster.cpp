#include <ashlar/core/algorithm.hpp>
#include <ashlar/cost/cluster/cluster.hpp>

namespace ashlar::cost {

int domain_of(cluster const& c) {
  machine const& m = c.device;
  return min_of(m.domain, m.domain > m.per_node ? c.devices : m.per_node);
}

}  // namespace ashlar::cost
