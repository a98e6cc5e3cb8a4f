// The certificate of `ashlar plan`: what the passes of all layouts take that were tried, and that none
// that fits takes less than the first plan.
#pragma once

#include "plan/predicted_plan.hpp"
#include "report/certificates.hpp"
#include <ashlar/cost/question/question.hpp>
#include <ashlar/cost/step/constants.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// A layout on the device that takes longest. Times are whole nanoseconds, and bytes whole, rounded down.
struct weighed_layout {
  std::string options;
  std::int64_t micro_batches = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> passes;  // a micro-batch's, by stage of the device
  std::int64_t fill = 0;  // while it waits for the other devices' first and last passes
  std::int64_t rest = 0;  // once a step
  std::int64_t bytes = 0;
  std::int64_t simulated = 0;           // the step, if it has no closed form that is exact
  bool fits = false, is_exact = false;  // exact: the step has a closed form

  // Time of the step, without what is simulated.
  std::int64_t nanoseconds() const;
};

weighed_layout weigh(ashlar::cost::question const& q, ashlar::cost::constants const& c);

// Layouts as they are tried.
class noted_layouts {
 public:
  void note(ashlar::cost::question const& q, ashlar::cost::constants const& c);

  // All of them. Those that fit and would take less than `least` without what is simulated are
  // simulated.
  std::vector<weighed_layout> weighed(std::int64_t least, ashlar::cost::constants const& c) const;

 private:
  struct unclear_layout {
    std::size_t number = 0;
    ashlar::cost::question asked;
  };

  std::vector<weighed_layout> all_;
  std::vector<unclear_layout> unclear_;       // that may take more than their passes
  std::int64_t shortest_ = ashlar::max_tick;  // of the clear ones that fit
};

// Adds the certificates of a study with plans, or says what has none.
void certify(certificates& proofs, predicted_request const& r, predicted_study const& s,
             noted_layouts const& tried);
// Likewise, of a study of which nothing fits.
void certify_none(certificates& proofs, predicted_study const& s, noted_layouts const& tried);

}  // namespace tool
