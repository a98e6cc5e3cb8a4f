// A new machine for each test of the substitute, and for the test after it.
#pragma once

#include <substitute.hpp>

namespace ashlar::cuda_test {

class substituted {
 public:
  explicit substituted(cuda_substitute::settings const& s = {}) { cuda_substitute::reset(s); }
  substituted(substituted const&) = delete;
  substituted& operator=(substituted const&) = delete;
  ~substituted() { cuda_substitute::reset(); }
};

}  // namespace ashlar::cuda_test
