// Limits on memory.
#pragma once

#include "doors/knock.hpp"
#include <ashlar/model/memory_model.hpp>

namespace doors {

inline memory_limit some_limit(dice& d) {
  memory_limit limit = chunk_activations(d.between(0, 4));
  if (d.percent(40)) change_list(d, limit.budget);
  if (d.percent(30)) change_memory(d, limit.memory);
  return limit;
}

}  // namespace doors
